"""Replicas that live for one task: if no process manages a cluster's replicas, its work is
submitted to Spark as one of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from reclock.clusters.sizes import size_named
from reclock.clusters.spark_options import configuration
from reclock.consensus.processes.replicas import Incarnation
from reclock.controllers.implied import replicas_of
from reclock.errors import InvalidOption, ReclockError
from reclock.protocol.orchestration import EndedProcess, ReplicaDescription
from reclock.runtime.environment import Environment
from reclock.runtime.replica import find, run

_KNOWN_TO_SUBMIT = ("spark.driver.", "spark.kubernetes.", "spark.yarn.")


def attended(environment: Environment) -> list[str]:
    """The clusters, by id, that serve any process: virtual ones, and those whose replicas are alive
    or managed."""
    catalog = environment.stores.planner_catalog()
    return [
        name
        for name, id in sorted(catalog.clusters.items(), key=lambda cluster: cluster[1])
        if not replicas_of(catalog, id)
        or environment.control_plane.managed_controller(id).is_attended()
    ]


def submissions(
    environment: Environment, *, but: Sequence[str], at: int, owner: str
) -> list[dict[str, object]]:
    """For each other cluster, what spark-submit needs: the arguments of ``jobs/work_cluster.py``,
    and the options of its replica's size that the driver must have before it starts. The job sets
    all others itself, such as the master."""
    catalog = environment.stores.planner_catalog()
    job_arguments: list[dict[str, object]] = []
    for name, id in sorted(catalog.clusters.items(), key=lambda cluster: cluster[1]):
        if name not in but:
            options = _options(
                environment, next((replica.size for replica in replicas_of(catalog, id)), None)
            )
            arguments = [
                "--home",
                str(environment.stores.settings.home.absolute()),
                "--cluster",
                name,
                "--at",
                str(at),
                "--owner",
                owner,
            ]
            early = {
                option: value
                for option, value in options.items()
                if option.startswith(_KNOWN_TO_SUBMIT)
            }
            job_arguments.append({"application_args": arguments, "conf": early})
    return job_arguments


def _options(environment: Environment, size: str | None) -> Mapping[str, str]:
    """The options of a size; none if it is unknown here, because the job then fails with that
    message."""
    try:
        sized = None if size is None else size_named(size, environment.stores.replica_sizes)
    except InvalidOption:
        return {}
    return configuration(
        environment.stores.settings
        if sized is None
        else sized.applied_to(environment.stores.settings)
    )


@contextmanager
def living(environment: Environment) -> Iterator[None]:
    """Within the block, this process is the first replica that a controller of ``environment`` has
    to start, and the only one."""
    orchestrator = environment.control_plane.orchestrator = WithinThisProcess(environment)
    try:
        yield
    finally:
        orchestrator.close()


class WithinThisProcess:
    """An `Orchestrator` whose only replica is a thread of this process. Controllers treat it like
    any other replica."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._living: tuple[int, threading.Thread, threading.Event] | None = None
        self._ended: list[EndedProcess] = []

    def has_room(self) -> bool:
        return self._living is None or not self._living[1].is_alive()

    def start(self, replica: ReplicaDescription, incarnation: Incarnation) -> None:
        stopping = threading.Event()

        def work() -> None:
            try:
                registration = find(self._environment, replica.cluster, replica.name)
                why = run(
                    self._environment, registration, incarnation=incarnation, stopping=stopping
                )
            except Exception as error:  # the edge of the replica
                why = (
                    error.message
                    if isinstance(error, ReclockError)
                    else f"{type(error).__name__}: {error}"
                )
            self._ended.append(EndedProcess(replica.id, incarnation, why))

        self._living = (
            replica.id,
            threading.Thread(target=work, name=f"replica-{replica}", daemon=True),
            stopping,
        )
        self._living[1].start()

    def stop(self, replica_id: int) -> None:
        if self._living is not None and self._living[0] == replica_id:
            self._living[2].set()

    def ended(self) -> list[EndedProcess]:
        ended_steps, self._ended = self._ended, []
        return ended_steps

    def close(self) -> None:
        """End the replica, if it was started."""
        if self._living is not None:
            self.stop(self._living[0])
            self._living[1].join()
