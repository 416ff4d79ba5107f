"""How long things may take, and how long they are kept."""

from __future__ import annotations

from pydantic import BaseModel, Field


class TimeSettings(BaseModel):
    tick_patience_ms: int = Field(
        default=2_000,
        gt=0,
        description="how long `reclock tick` waits for sources, clusters and sinks before it "
        "publishes the other sources, and no longer than until the next tick; one that was slow is "
        "not waited for again, and a slow source is published when it is ready",
    )
    source_threads: int = Field(
        default=16,
        gt=0,
        description="how many sources a tick works on at the same time, and as many slow ones",
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
    advisory_lock_lease_ms: int = Field(
        default=15_000,
        gt=0,
        description=(
            "how long the advisory locks of a session last after its process was killed, or lost "
            "consensus"
        ),
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
