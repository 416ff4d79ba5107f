"""Errors of replicas, and between clients and the SQL port."""

from __future__ import annotations

from reclock.errors.names import quoted_name
from reclock.errors.root import ConfigurationError, ReclockError


class ReplicaLost(ReclockError):
    """A replica died or hung during a query or refresh. Another replica, or its next incarnation,
    can repeat it."""

    sqlstate = "40001"

    def __init__(self, name: str, *, detail: str | None = None) -> None:
        super().__init__(
            f"lost the replica {quoted_name(name)}", detail=detail, hint="run the statement again"
        )
        self.name = name


class SparkLost(ReclockError):
    """Spark ended during a job: it was killed, or a result did not fit its memory. The next
    statement starts it again."""

    sqlstate = "58000"

    def __init__(self, *, detail: str | None = None) -> None:
        hint = "run the statement again; if its result is large, with more spark_driver_memory"
        super().__init__("Spark ended while it was at work", detail=detail, hint=hint)


class ReplicaBehind(ReclockError):
    """A request needs a later catalog time than the replica has been commanded up to. Clients do
    not see this."""

    sqlstate = "55000"

    def __init__(self, *, required: int, reached: int) -> None:
        super().__init__(
            "the replica is behind the catalog",
            detail=f"it was commanded up to {reached}, {required} is required",
        )
        self.required, self.reached = required, reached


class ReplicaSuperseded(ReclockError):
    """The process was superseded as a replica by a newer incarnation, or the replica was dropped.
    The process ends."""

    sqlstate = "57P03"

    def __init__(self, replica_id: int, incarnation: int) -> None:
        super().__init__(
            f"incarnation {incarnation} of replica {replica_id} is not wanted any more"
        )
        self.replica_id, self.incarnation = replica_id, incarnation


class ProtocolViolation(ReclockError):
    """A client sent a message that the protocol does not allow, or not at that point."""

    sqlstate = "08P01"


class AuthenticationFailed(ReclockError):
    """The user is unknown, may not log in, or gave a wrong password. The error does not say
    which."""

    sqlstate = "28P01"

    def __init__(self, user: str) -> None:
        super().__init__(f'password authentication failed for user "{user}"')
        self.user = user


class ConnectionRefused(ReclockError):
    """A connection is refused to any user: the database is unknown, or encryption is required."""

    sqlstate = "08004"


class TooManyConnections(ReclockError):
    """The server has reached ``max_connections``."""

    sqlstate = "53300"

    def __init__(self, limit: int) -> None:
        super().__init__("too many clients already", hint=f"max_connections is {limit}")
        self.limit = limit


class ServerStopping(ReclockError):
    """The server is being stopped, or the session was ended by ``pg_terminate_backend``; the
    connection ends."""

    sqlstate = "57P01"

    def __init__(self) -> None:
        super().__init__("terminating connection due to administrator command")


class UnsafeListener(ConfigurationError):
    """The server would be reachable from other machines without passwords or without encryption."""

    def __init__(self, host: str, *, detail: str) -> None:
        super().__init__(
            f'refusing to listen on "{host}"',
            detail=detail,
            hint=(
                "listen on 127.0.0.1, or give every role that may log in a password and set "
                "tls_certificate and tls_key"
            ),
        )
        self.host = host


class UnsafeHttpListener(ConfigurationError):
    """The HTTP port for monitoring would be reachable from other machines, and ``http_remote`` does
    not allow it."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f'refusing to listen for HTTP on "{host}"',
            detail="requests for metrics need no password; they see the names of objects",
            hint=(
                "listen on 127.0.0.1, or set http_remote to true and let only Prometheus and "
                "probes reach the port"
            ),
        )
        self.host = host


class UnsafeSparkListener(ConfigurationError):
    """Other machines could use the Spark Connect server, and it has no token."""

    def __init__(self, host: str, variable: str) -> None:
        super().__init__(
            f'refusing to serve Spark on "{host}"',
            detail="there is no token, so whoever reaches the port could run programs here",
            hint=f"serve on 127.0.0.1, or set {variable} here and where its clients run",
        )
        self.host = host


class WorkerUnresponsive(ReclockError):
    """A worker of the server does not answer, so its session cannot be cancelled or ended."""

    sqlstate = "57P03"

    def __init__(self, worker: int, process_id: int) -> None:
        super().__init__(
            f"worker {worker} of the server, which serves PID {process_id}, does not answer",
            hint=(
                "try again; if it stays so, kill the worker's process, and the server starts "
                "another"
            ),
        )
        self.worker, self.process_id = worker, process_id


class NoReplicas(ReclockError):
    """A query or refresh is for a cluster without replicas."""

    sqlstate = "55000"

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f'cluster "{cluster}" has no replicas',
            hint="add one with CREATE CLUSTER REPLICA, or choose another cluster with SET cluster",
        )
        self.cluster = cluster
