"""The Spark session of an environment: its own, or one of a Spark Connect server."""

from __future__ import annotations

import os
import subprocess
import warnings
from contextlib import suppress
from typing import Any, cast

from pyspark import SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from reclock.clusters.spark_options import configuration, credentials, variables
from reclock.config import Settings
from reclock.errors import ConfigurationError

_END_S = 5.0
"""How long a killed process may take to end."""

_PATIENCE: dict[str, Any] = {"max_retries": 10, "max_backoff": 5_000}
"""Waits of 0.05, 0.2, 0.8, 3.2 and then 5 seconds, before a server that does not respond is given
up."""


def start(settings: Settings, *, ended: SparkSession | None = None) -> SparkSession:
    """A session for this environment: the running one of this process, or a new one. Raises
    ``ConfigurationError``.

    PySpark keeps sessions that have ended, and returns them again. The caller must pass such a
    session as ``ended``.
    """
    # of pandas 3, which we keep away from it
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    if ended is not None:
        _forget(ended)
    session = (
        _of_server(settings.spark_remote) if settings.spark_remote else _start_session(settings)
    )
    for name, value in credentials(settings).items():
        session.conf.set(name, value)
    return session


def is_running_here() -> bool:
    """Whether this process has a Spark session already, which `start` would return."""
    existing: Any = cast(Any, SparkSession)._instantiatedSession
    return existing is not None and not has_ended(existing)


def has_ended(session: SparkSession) -> bool:
    """Whether the session's Java process has ended, or its server no longer knows it, for example
    after it ran out of memory."""
    if not isinstance(session, SparkSession):
        return not _is_known(session)
    gateway, java_session = cast(Any, SparkContext)._gateway, cast(Any, session.sparkContext)._jsc
    if (
        gateway is None
        or java_session is None
        or java_session._gateway_client is not gateway._gateway_client
    ):
        return True
    return gateway.proc is not None and gateway.proc.poll() is not None


def _is_known(session: Any) -> bool:
    """Whether the server has the session. A server that was restarted, or does not respond for half
    a minute, does not."""
    try:
        session.conf.get("spark.sql.session.timeZone")
    except PySparkException:
        return False
    return True


def is_ending(session: SparkSession) -> bool:
    """Whether the Java process of an unresponsive session has ended, or ends within a moment."""
    if not isinstance(session, SparkSession):
        return False
    process = cast(Any, SparkContext)._gateway and cast(Any, SparkContext)._gateway.proc
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
    return has_ended(session)


def _of_server(url: str) -> SparkSession:
    """A session of a Spark Connect server, which may be unreachable for half a minute, at the
    beginning and later."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session = SparkSession.builder.remote(url).getOrCreate()
    client = cast(Any, session).client
    client.set_retry_policies([DefaultPolicy(**_PATIENCE)])
    try:
        session.version  # noqa: B018  # the first thing that is asked of the server
    except PySparkException as error:
        client.close()
        address = url.partition("/;")[0]  # what follows are parameters, a token perhaps
        raise ConfigurationError(
            f"no Spark Connect server answers at {address}",
            detail=str(error),
            hint="`reclock spark` runs one; see RECLOCK_SPARK_REMOTE",
        ) from error
    return session


def _start_session(settings: Settings) -> SparkSession:
    for name, value in variables(settings).items():
        os.environ.setdefault(name, value)
    # left to this process by one that is the client of a server
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
    ended: Any = cast(Any, SparkSession)._instantiatedSession
    if ended is not None and has_ended(ended):  # of another environment of this process
        _forget(ended)
    builder = SparkSession.builder.master(settings.spark_master).appName("reclock")
    for name, value in configuration(settings).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise ConfigurationError("Spark does not start", detail=str(error)) from error
        raise ConfigurationError(
            "the Java process of Spark does not start",
            detail=str(error),
            hint="install a Java 17 runtime, or set JAVA_HOME",
        ) from error


def _forget(ended: Any) -> None:
    if not isinstance(ended, SparkSession):
        ended.release_session_on_close = False  # there is no server to notify
        ended.stop()
        return
    session_class: Any = SparkSession
    if session_class._instantiatedSession is not ended or not has_ended(ended):
        return  # another environment of this process has done it
    # threads of this process that listen to the other; of it nothing is left to be stopped
    with suppress(Exception):
        ended._sc._accumulatorServer.shutdown()
    context: Any = SparkContext
    context._active_spark_context = context._gateway = context._jvm = None
    session_class._instantiatedSession = None
