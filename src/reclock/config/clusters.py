"""Clusters and the processes that are their replicas."""

from __future__ import annotations

from ipaddress import ip_address

from pydantic import BaseModel, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError


class ClusterSettings(BaseModel):
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

    @field_validator("replica_advertised_host")
    @classmethod
    def _can_be_reached(cls, advertised: str, others: ValidationInfo) -> str:
        if not advertised and _is_every_address(others.data.get("replica_host", "")):
            raise PydanticCustomError(
                "unreachable", "must be given where replica_host is every address of the machine"
            )
        return advertised


def _is_every_address(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:  # a name
        return False
