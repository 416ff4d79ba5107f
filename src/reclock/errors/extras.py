"""Packages that only an extra installs."""

from __future__ import annotations

from reclock.errors.root import ReclockError

__all__ = ["EXTRAS", "ExtraNotInstalled", "extra_not_installed"]

EXTRAS = {
    "boto3": "aws",
    "botocore": "aws",
    "confluent_kafka": "kafka",
    "grpc_tools": "protobuf",
    "openlineage": "openlineage",
    "opentelemetry": "otel",
    "pubnub": "pubnub",
    "pymetastore": "hive",
    "py4j": "spark",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "thrift": "hive",
}
"""Which extra installs a package, by the name that is imported."""

_COMES_WITH = {"botocore": "boto3", "py4j": "pyspark", "thrift": "pymetastore"}
"""Packages that come with another, whose name is the one to install."""

_THRESHOLDS = (
    "sources need no Spark below staging_threshold_bytes, nor queries and views below "
    "spark_threshold_bytes"
)


class ExtraNotInstalled(ReclockError):
    """What was asked for needs a package that is not installed. The hint names the extra that has
    it."""

    sqlstate = "0A000"

    def __init__(self, package: str) -> None:
        extra = EXTRAS[package]
        install = f"pip install 'reclock[{extra}]'"
        super().__init__(
            f'the extra "{extra}" of Reclock is not installed',
            detail=f'there is no Python package "{package}"',
            hint=f"{install}; {_THRESHOLDS}" if extra == "spark" else install,
        )


def extra_not_installed(failure: BaseException) -> ExtraNotInstalled | None:
    """The error for users, if an import failed for want of an extra; otherwise None."""
    if not isinstance(failure, ModuleNotFoundError):
        return None
    imported = (failure.name or "").partition(".")[0]
    package = _COMES_WITH.get(imported, imported)
    return ExtraNotInstalled(package) if package in EXTRAS else None
