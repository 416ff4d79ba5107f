"""A schema registry, as Confluent's protocol has it: schemas by id, for good, and the latest of a subject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reclock.errors import UpstreamUnavailable

_MISSING = (40401, 40402, 40403, 404)


class UnknownSchema(Exception):
    """The registry has no such schema."""


def latest(settings: Mapping[str, Any], subject: str) -> str:
    """The text of the newest schema of a subject. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""
    from confluent_kafka.schema_registry import SchemaRegistryError

    try:
        return str(_client(tuple(sorted(settings.items()))).get_latest_version(subject).schema.schema_str)
    except SchemaRegistryError as error:
        if error.error_code in _MISSING:
            raise UnknownSchema(f'the registry has no schema of "{subject}"') from error
        raise _unavailable(settings, error) from error
    except Exception as error:  # whatever its HTTP library comes upon
        raise _unavailable(settings, error) from error


@lru_cache(maxsize=1024)
def _schema(settings: tuple[tuple[str, Any], ...], id: int) -> str:
    from confluent_kafka.schema_registry import SchemaRegistryError

    try:
        return str(_client(settings).get_schema(id).schema_str)
    except SchemaRegistryError as error:
        if error.error_code in _MISSING:
            raise UnknownSchema(f"the registry has no schema {id}") from error
        raise _unavailable(dict(settings), error) from error
    except Exception as error:
        raise _unavailable(dict(settings), error) from error


def schema(settings: Mapping[str, Any], id: int) -> str:
    """The text of a schema, asked for once. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""
    return _schema(tuple(sorted(settings.items())), id)


def subjects(settings: Mapping[str, Any]) -> list[str]:
    """All subjects. Raises ``UpstreamUnavailable``."""
    try:
        return list(_client(tuple(sorted(settings.items()))).get_subjects())
    except Exception as error:
        raise _unavailable(settings, error) from error


@lru_cache(maxsize=8)
def _client(settings: tuple[tuple[str, Any], ...]) -> Any:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient(dict(settings))


def _unavailable(settings: Mapping[str, Any], error: Exception) -> UpstreamUnavailable:
    return UpstreamUnavailable(f'cannot read the schema registry at "{settings["url"]}"', detail=str(error) or type(error).__name__)
