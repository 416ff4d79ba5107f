"""Settings of one environment: defaults, then ``reclock.toml`` in its home, then ``RECLOCK_…``
variables."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from reclock.errors import ConfigurationError

_HINT = (
    "docs/settings.md has all settings; they come from reclock.toml in the home, and from "
    "RECLOCK_... variables"
)

_SETTINGS_FILE = """# Settings of this environment; see docs/settings.md for all of them. Variables RECLOCK_... override.
# log_level = "INFO"
"""


class Settings(BaseSettings):
    """Every setting, with its default and meaning. Unknown names in ``reclock.toml`` are an
    error."""

    model_config = SettingsConfigDict(env_prefix="RECLOCK_", extra="forbid", frozen=True)

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
    tick_patience_ms: int = Field(
        default=2_000,
        gt=0,
        description="how long `reclock tick` waits for slow sources before it publishes the "
        "others; "
        "a slow source is "
        "published when it is ready",
    )
    source_threads: int = Field(
        default=16, gt=0, description="how many sources a tick works on at the same time"
    )

    sinks: str = Field(
        default="",
        description=(
            "root of the Delta and Iceberg tables that sinks write: a folder or an s3:// prefix; "
            "<home>/sinks if empty"
        ),
    )
    iceberg_catalog: SecretStr = Field(
        default=SecretStr(""),
        description=(
            "SQLAlchemy URL of the catalog of Iceberg tables that sinks without a connection write: "
            "sqlite or postgresql+psycopg; <home>/iceberg.db if empty"
        ),
    )

    spark_master: str = Field(
        default="local[2]", description="master of the environment's own Spark session"
    )
    spark_remote: str = Field(
        default="",
        description="sc:// URL of a Spark Connect server to use instead of an own session",
    )
    spark_driver_memory: str = Field(default="2g", description="memory of the Spark driver")
    spark_conf: dict[str, str] = Field(
        default={}, description="further options of Spark sessions, by their names in Spark"
    )
    spark_jars: str = Field(
        default="",
        description=(
            "folder of the fetched jars; share/reclock/jars of the Python environment if empty"
        ),
    )
    spark_threshold_bytes: int = Field(
        default=256 << 20,
        ge=0,
        description=(
            "queries, refreshes and keyed changes that read more bytes of Parquet run on "
            "Spark, others on DuckDB"
        ),
    )
    arrangements_bytes: int = Field(
        default=256 << 20,
        ge=0,
        description="memory of a process for columns that point lookups use repeatedly; 0 for none",
    )
    refresh_lookups_bytes: int = Field(
        default=1 << 33,
        ge=0,
        description="space of a process for collections that refreshes look rows up in by key, "
        "memory-mapped from its spill folder; beyond it they scan; 0 for none",
    )
    refresh_groups_bytes: int = Field(
        default=1 << 30,
        ge=0,
        description="memory of a process for partial aggregates of groups, from which refreshes "
        "maintain counts, sums and "
        "averages without reading a group's other rows; 0 for none",
    )
    refresh_interval_ms: int = Field(
        default=1_000,
        ge=0,
        description="how often at most a serving process refreshes the indexes of a cluster by "
        "itself, when their inputs have "
        "changed; 0 if only ticks and DAGs refresh them",
    )
    refresh_recompute_bytes: int = Field(
        default=1 << 20,
        ge=0,
        description="an index whose inputs have at least so many bytes of Parquet is recomputed "
        "where a replica has measured "
        "that to be cheaper than maintaining it from changes",
    )

    query_memory: str = Field(
        default="50%",
        pattern=r"^[1-9]\d*(%|[KMGT]i?B)$",
        description="memory for all queries and refreshes of a process that do not run on Spark, "
        "such as 2GB, or a share of the "
        "memory of the machine or container; what does not fit is spilled, or fails with 53200",
    )
    query_threads: int = Field(
        default=0, ge=0, description="threads for the same queries and refreshes; 0 is one a core"
    )
    spill: str = Field(
        default="",
        description="folder in which each process has its own spill folder; <home>/spill if empty",
    )

    cluster_replica_sizes: str = Field(
        default="",
        description=(
            "JSON file of the sizes that replicas of clusters may have; a few local ones if empty"
        ),
    )
    experimental_mode: bool = Field(
        default=True, description="whether statements about clusters and their replicas are allowed"
    )
    replica_autostart: bool = Field(
        default=True,
        description="whether the leader of a cluster starts its replicas, as processes on its own "
        "machine; if not, run a "
        "`reclock replica` for each, on any machine",
    )
    replica_host: str = Field(
        default="127.0.0.1",
        description="address of this machine that its replicas listen on, with TLS",
    )
    replica_advertised_host: str = Field(
        default="",
        validate_default=True,
        description=(
            "name or address by which other machines reach the replicas of this one; "
            "replica_host if empty"
        ),
    )
    replica_lease_ms: int = Field(
        default=5_000,
        gt=0,
        description=(
            "how long a replica without a sign of life counts as alive; then it is restarted"
        ),
    )
    replica_start_ms: int = Field(
        default=120_000,
        gt=0,
        description="how long a replica may take from the start of its process until it answers",
    )
    replica_linger_ms: int = Field(
        default=120_000,
        gt=0,
        description="how long a replica lives on without a leader and without queries",
    )
    replica_warm_up: bool = Field(
        default=True,
        description=(
            "whether a replica starts its Spark session at once, not when it first needs it"
        ),
    )

    introspection_interval_ms: int = Field(
        default=2_000,
        gt=0,
        description=(
            "how often a process that serves or ticks writes what its replicas and sessions report"
        ),
    )
    introspection_sample_ms: int = Field(
        default=60_000,
        gt=0,
        description="how often CPU, memory, sizes of arrangements and lags are measured",
    )
    introspection_lease_ms: int = Field(
        default=15_000,
        gt=0,
        description=(
            "how long after its last sign of life another process deletes what a process reported"
        ),
    )
    introspection_retention_ms: int = Field(
        default=86_400_000,
        ge=0,
        description=(
            "how long the histories of introspection are kept, and how far back AS OF can read them"
        ),
    )
    introspection_apply_delay_ms: int = Field(
        default=300_000,
        ge=0,
        description="how long after its commit introspection is written to its Delta tables",
    )

    max_clock_jump_ms: int = Field(
        default=366 * 86_400_000,
        gt=0,
        description=(
            "how far the clock may be beyond the newest timestamp; with a clock further "
            "ahead, nothing is written"
        ),
    )
    claim_lease_ms: int = Field(
        default=60_000,
        gt=0,
        description="how long a claim belongs to its writer without a sign of life",
    )
    controller_lease_ms: int = Field(
        default=5_000,
        gt=0,
        description=(
            "how long a leader without a sign of life keeps a controller before another "
            "process leads it"
        ),
    )
    read_hold_lease_ms: int = Field(
        default=60_000, gt=0, description="how long a read hold lasts without renewal"
    )
    statement_timeout_ms: int = Field(
        default=60_000, gt=0, description="how long a statement may wait and run"
    )
    retention_ms: int = Field(
        default=30 * 86_400_000,
        ge=0,
        description="how far back sources can be read AS OF: how far since stays behind upper",
    )
    index_retention_ms: int = Field(
        default=60_000, ge=0, description="the same for indexes; earlier reads compute the view"
    )
    status_retention_ms: int = Field(
        default=30 * 86_400_000, ge=0, description="how long the history of statuses goes back"
    )
    storage_usage_retention_ms: int = Field(
        default=30 * 86_400_000,
        ge=0,
        description="how long measurements of storage usage (mz_storage_usage) are kept",
    )
    catalog_retention_ms: int = Field(
        default=3_600_000,
        ge=0,
        description=(
            "how long the history of the catalog is kept; a process that has not read it for "
            "longer reads all of it again"
        ),
    )
    store_mark_interval_ms: int = Field(
        default=60_000,
        ge=0,
        description=(
            "how often the lake and consensus note how far the other is, so that an older "
            "copy of a store is not opened"
        ),
    )
    vacuum_grace_ms: int = Field(
        default=3_600_000,
        ge=0,
        description=(
            "how long replaced files are kept for reads that began before, and staged files "
            "for the jobs that write them"
        ),
    )
    table_apply_delay_ms: int = Field(
        default=1_000,
        ge=0,
        description=(
            "how long after a commit to tables its process writes the rows to their Delta tables"
        ),
    )
    refresh_times_limit: int = Field(
        default=16,
        gt=0,
        description=(
            "an index that is behind by more distinct times than this is refreshed in one "
            "step, which moves its since"
        ),
    )
    max_connections: int = Field(
        default=100, gt=0, description="clients that the SQL port serves at the same time"
    )
    max_message_bytes: int = Field(
        default=64 << 20,
        gt=0,
        description="longest message that the SQL port accepts from a client",
    )
    tls_certificate: str = Field(
        default="", description="PEM file of the SQL port's certificate chain; no TLS if empty"
    )
    tls_key: str = Field(
        default="",
        description="PEM file of its private key; in the file of the certificate if empty",
    )

    serve_http: str = Field(
        default="",
        description="HOST:PORT at which `reclock serve` answers over HTTP, or https://HOST:PORT: "
        "/metrics, /healthz, /readyz, and "
        "steps of DAGs; nowhere if empty",
    )
    tick_http: str = Field(
        default="",
        description=(
            "the same for `reclock tick --every`, which answers /metrics, /healthz and "
            "/readyz alone"
        ),
    )
    replica_http: str = Field(
        default="",
        description=(
            "the same for replicas; of several on one machine, the first gets the port, port "
            "0 is a free one"
        ),
    )

    http_remote: bool = Field(
        default=False,
        description=(
            "whether these HTTP ports may be on other addresses than loopback; they have no "
            "password and no TLS"
        ),
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="least severe level that is logged"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        home = (
            init_settings().get("home")
            or env_settings().get("home")
            or cls.model_fields["home"].default
        )
        toml = TomlConfigSettingsSource(settings_cls, toml_file=Path(home) / "reclock.toml")
        return init_settings, env_settings, toml

    @classmethod
    def load(cls, home: Path | str | None = None) -> Settings:
        """The settings of the environment at ``home`` (``RECLOCK_HOME`` or ``.reclock`` if none).
        Raises ``ConfigurationError``."""
        try:
            return cls(home=Path(home)) if home is not None else cls()
        except ValidationError as invalid:
            problems = [
                (
                    f"{'.'.join(map(str, e['loc']))}: "
                    f"{'there is no such setting' if e['type'] == 'extra_forbidden' else e['msg']}"
                )
                for e in invalid.errors(include_input=False)
            ]
            raise ConfigurationError(
                "invalid settings", detail="; ".join(problems), hint=_HINT
            ) from None
        except TOMLDecodeError as invalid:
            raise ConfigurationError(
                "reclock.toml is not TOML",
                detail=str(invalid),
                hint='text stands in quotes: log_level = "INFO"',
            ) from None

    @field_validator("replica_advertised_host")
    @classmethod
    def _can_be_reached(cls, advertised: str, others: ValidationInfo) -> str:
        if not advertised and _is_every_address(others.data.get("replica_host", "")):
            raise PydanticCustomError(
                "unreachable", "must be given where replica_host is every address of the machine"
            )
        return advertised

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
        own = SecretStr(f"sqlite:///{(self.home / 'iceberg.db').absolute()}")
        return self.iceberg_catalog if self.iceberg_catalog.get_secret_value() else own

    @property
    def lake_options(self) -> dict[str, str]:
        return self.store_options(self.lake_root)

    def store_options(self, root: str) -> dict[str, str]:
        """delta-rs's names for the settings of an object store; none for a local root."""
        if not root.startswith("s3"):
            return {}
        options = {"AWS_REGION": self.s3_region, "aws_conditional_put": "etag"}
        if self.s3_endpoint:
            options |= {
                "AWS_ENDPOINT_URL": self.s3_endpoint,
                "AWS_ALLOW_HTTP": "true",
                "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
            }
        if self.s3_access_key_id:
            options["AWS_ACCESS_KEY_ID"] = self.s3_access_key_id
            options["AWS_SECRET_ACCESS_KEY"] = self.s3_secret_access_key.get_secret_value()
        return options

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


def _is_every_address(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:  # a name
        return False
