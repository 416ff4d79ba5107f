"""Spark, DuckDB, and how indexes are refreshed."""

from __future__ import annotations

from pydantic import BaseModel, Field


class EngineSettings(BaseModel):
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
        default=2 << 30,
        ge=0,
        description=(
            "queries, refreshes and keyed changes that read more bytes of Parquet run on "
            "Spark, others on DuckDB"
        ),
    )
    staging_threshold_bytes: int = Field(
        default=32 << 20,
        ge=0,
        description=(
            "a step of a source that reads more bytes upstream runs on Spark, others in threads of "
            "the process; 0 for Spark always. A process that was started by spark-submit, or given "
            "a Spark session, always uses that"
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
        "maintain counts, sums and averages without reading a group's other rows, and for the rows of "
        "aggregates, windows and limits without groups; 0 for none",
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
    query_spill: str = Field(
        default="50%",
        pattern=r"^[1-9]\d*(%|[KMGT]i?B)$",
        description="disk space for what the same queries and refreshes of a process spill, such "
        "as 100GB, or a share of what is free where they spill; a statement that needs more fails "
        "with 53200",
    )
    query_threads: int = Field(
        default=0, ge=0, description="threads for the same queries and refreshes; 0 is one a core"
    )
    refresh_times_limit: int = Field(
        default=16,
        gt=0,
        description=(
            "an index that is behind by more distinct times than this is refreshed in one "
            "step, which moves its since"
        ),
    )
