"""Where the environment keeps what: its home, the lake, consensus, buckets and sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from reclock.errors import ConfigurationError

_SETTINGS_FILE = """# Settings of this environment; see docs/settings.md for all of them. Variables RECLOCK_... override.
# log_level = "INFO"
"""


class StoreSettings(BaseModel):
    home: Path = Field(
        default=Path(".reclock"),
        description="folder of the environment; reclock.toml is read from here",
    )
    lake: str = Field(
        default="",
        description="root of the Delta tables: a folder or an s3:// prefix; <home>/lake if empty",
    )
    consensus_url: SecretStr = Field(
        default=SecretStr(""),
        description=(
            "SQLAlchemy URL of consensus: sqlite or postgresql+psycopg; <home>/consensus.db "
            "if empty"
        ),
    )
    environment_id: str = Field(
        default="",
        description="names the environment where consensus is lost and the catalog is in the lake; "
        "must agree with consensus; "
        "a new environment gets a random one if empty",
    )
    catalog: Literal["", "stash", "persist", "shadow"] = Field(
        default="",
        description="where the durable catalog is kept: in consensus (stash), in a table of the "
        "lake "
        "(persist), in both, compared "
        "(shadow); what the environment was made with if empty, stash for a new one",
    )
    deploy_generation: int = Field(
        default=0, ge=0, description="a higher generation fences every process of a lower one"
    )
    buckets: str = Field(
        default="",
        description=(
            "folder whose subfolders are buckets, or s3:// for an S3 endpoint; "
            "<home>/buckets if empty"
        ),
    )
    s3_endpoint: str = Field(
        default="", description="URL of an S3 endpoint other than the default, for buckets and lake"
    )
    s3_region: str = Field(default="us-east-1", description="region of the S3 endpoint")
    s3_access_key_id: str = Field(
        default="", description="access key; the usual AWS chain if empty"
    )
    s3_secret_access_key: SecretStr = Field(
        default=SecretStr(""), description="secret of the access key"
    )
    secrets_key: SecretStr = Field(
        default=SecretStr(""),
        description="Fernet key that encrypts the values of secrets; if empty, the key in "
        "<home>/secrets.key, which the first "
        "secret creates",
    )
    sinks: str = Field(
        default="",
        description=(
            "root of the tables and files that sinks write: a folder or an s3:// prefix; "
            "<home>/sinks if empty"
        ),
    )
    exports: str = Field(
        default="",
        description=(
            "root of the folders that COPY ... TO 'path' writes: a folder or an s3:// prefix; "
            "refused if empty"
        ),
    )
    lineage_namespace: str = Field(
        default="reclock",
        description="namespace of the environment's relations and jobs in events of OpenLineage",
    )
    iceberg_catalog: SecretStr = Field(
        default=SecretStr(""),
        description=(
            "SQLAlchemy URL of the catalog of Iceberg tables that sinks without a connection write: "
            "sqlite or postgresql+psycopg; <home>/iceberg.db if empty"
        ),
    )

    spill: str = Field(
        default="",
        description="folder in which each process has its own spill folder; <home>/spill if empty",
    )

    @property
    def lake_root(self) -> str:
        return self.lake or str((self.home / "lake").absolute())

    @property
    def spill_root(self) -> str:
        return self.spill or str((self.home / "spill").absolute())

    @property
    def sinks_root(self) -> str:
        return self.sinks or str((self.home / "sinks").absolute())

    @property
    def iceberg_catalog_url(self) -> SecretStr:
        local_catalog = SecretStr(f"sqlite:///{(self.home / 'iceberg.db').absolute()}")
        return self.iceberg_catalog if self.iceberg_catalog.get_secret_value() else local_catalog

    @property
    def lake_options(self) -> dict[str, str]:
        return self.store_options(self.lake_root)

    def store_options(self, root: str) -> dict[str, str]:
        """delta-rs's names for the settings of an object store; none for a local root."""
        if not root.startswith("s3"):
            return {}
        return s3_store_options(
            self.s3_endpoint,
            self.s3_region,
            self.s3_access_key_id,
            self.s3_secret_access_key.get_secret_value(),
        )

    @property
    def buckets_root(self) -> str:
        return self.buckets or str((self.home / "buckets").absolute())

    @property
    def consensus(self) -> SecretStr:
        file = self.consensus_file
        return self.consensus_url if file is None else SecretStr(f"sqlite:///{file}")

    @property
    def consensus_file(self) -> Path | None:
        """Where consensus is kept if no URL says where."""
        return (
            None
            if self.consensus_url.get_secret_value()
            else (self.home / "consensus.db").absolute()
        )

    def make_folders(self) -> None:
        """The folder of the environment, with a file of settings, and the roots that are local
        folders are there afterwards.

        Raises ``ConfigurationError``.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = self.home / "reclock.toml"
            if not file.exists():
                file.write_text(_SETTINGS_FILE)
            for root in (self.lake_root, self.buckets_root):
                if "://" not in root:
                    Path(root).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f'cannot make "{error.filename}"', detail=error.strerror
            ) from error


def s3_store_options(
    endpoint: str, region: str, access_key_id: str, secret_access_key: str, session_token: str = ""
) -> dict[str, str]:
    """delta-rs's names for the settings of S3. What is empty comes from the usual AWS chain."""
    options = {"AWS_REGION": region, "aws_conditional_put": "etag"}
    if endpoint:
        options |= {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        }
    if access_key_id:
        options["AWS_ACCESS_KEY_ID"] = access_key_id
        options["AWS_SECRET_ACCESS_KEY"] = secret_access_key
    if session_token:
        options["AWS_SESSION_TOKEN"] = session_token
    return options
