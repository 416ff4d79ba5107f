"""Sizes of cluster replicas, by name, from a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from reclock.config import Settings
from reclock.errors import ConfigurationError, InvalidOption


class ReplicaSize(BaseModel):
    """The resources of one replica's Spark application. A ``local`` one is a single process, which
    is its own executor."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    master: str = Field(
        pattern=r"^(local|spark://\S+|yarn|k8s://\S+)$",
        description="`local`, `spark://HOST:PORT` (a standalone master), `yarn` or `k8s://URL`",
    )
    cores: int = Field(ge=1, description="cores of an executor")
    memory: str = Field(
        pattern=r"^[1-9]\d*[mg]$", description="memory of an executor, such as `512m` or `4g`"
    )
    executors: int = Field(
        default=1, ge=1, description="how many executors; a `local` master has one"
    )

    spark_conf: dict[str, str] = Field(
        default={},
        description="further options of Spark, such as the image of Kubernetes' containers",
    )

    @property
    def is_local(self) -> bool:
        return self.master == "local"

    @property
    def memory_bytes(self) -> int:
        """The memory of one executor."""
        return int(self.memory[:-1]) * {"m": 1 << 20, "g": 1 << 30}[self.memory[-1]]

    def applied_to(self, settings: Settings) -> Settings:
        """``settings`` for a process whose Spark application has this size."""
        if self.is_local:
            changed = {
                "spark_master": f"local[{self.cores}]",
                "spark_driver_memory": self.memory,
                "spark_conf": self.spark_conf,
                "query_memory": self.memory.upper() + "B",
                "query_threads": self.cores,
            }
        else:
            executors = {
                "spark.executor.cores": str(self.cores),
                "spark.executor.memory": self.memory,
                "spark.executor.instances": str(self.executors),
                "spark.cores.max": str(self.cores * self.executors),
            }
            changed = {"spark_master": self.master, "spark_conf": {**executors, **self.spark_conf}}
        return settings.model_copy(update={**changed, "spark_remote": ""})

    @model_validator(mode="after")
    def _local_is_one_process(self) -> Self:
        if self.master == "local" and self.executors != 1:
            raise ValueError("a local master has one executor")
        return self


_SIZES = TypeAdapter(dict[Annotated[str, StringConstraints(min_length=1)], ReplicaSize])


LOCAL_SIZES: Mapping[str, ReplicaSize] = {
    str(cores): ReplicaSize(master="local", cores=cores, memory=f"{cores}g")
    for cores in (1, 2, 4, 8)
}
"""The sizes without a file: a number of cores, and as many GiB of memory."""


def replica_sizes(file: str) -> Mapping[str, ReplicaSize]:
    """The sizes in ``file``, or ``LOCAL_SIZES`` if its name is empty. Raises
    ``ConfigurationError``."""
    return load_sizes(Path(file)) if file else LOCAL_SIZES


def size_named(name: str, sizes: Mapping[str, ReplicaSize]) -> ReplicaSize:
    """The size of this name. Raises ``InvalidOption`` if it does not exist."""
    if name not in sizes:
        raise InvalidOption(
            f'unknown cluster replica size "{name}"', hint=f"valid sizes: {', '.join(sizes)}"
        )
    return sizes[name]


def load_sizes(file: Path) -> Mapping[str, ReplicaSize]:
    """The sizes by name. Raises ``ConfigurationError`` if the file cannot be read, or a size is not
    valid."""
    try:
        return _SIZES.validate_json(file.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f'cannot read cluster replica sizes from "{file}"', detail=error.strerror
        ) from error
    except ValidationError as invalid:
        problems = [
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}"
            for e in invalid.errors(include_input=False)
        ]
        raise ConfigurationError(
            f'invalid cluster replica sizes in "{file}"', detail="; ".join(problems)
        ) from None
