"""A client of a schema registry with Confluent's protocol: schemas by id, which never change, and
the newest schema of a subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reclock.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient

REGISTER_AGAIN = "register the schema again, with the id that it had,"
"""What a person can do about a message whose schema the registry no longer has."""

_MISSING = (40401, 40402, 40403, 404)
_REFUSED = (409, 422)


class UnknownSchema(Exception):
    """The registry has no such schema."""


class RefusedSchema(Exception):
    """The registry refuses a schema: it is invalid, or incompatible with the subject's earlier
    ones."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """The text of a schema, and the schemas that it refers to, by the names in its references. Each
    comes after those that it needs."""

    text: str
    imports: tuple[tuple[str, str], ...] = ()


def latest(settings: Mapping[str, Any], subject: str) -> RegisteredSchema:
    """The newest schema of a subject. Raises ``UnknownSchema``, ``UpstreamUnavailable``."""
    return _request(
        settings, f'of "{subject}"', lambda client: client.get_version(subject, "latest").schema
    )


def schema(settings: Mapping[str, Any], id: int) -> RegisteredSchema:
    """The schema with an id, which is requested once. Raises ``UnknownSchema``,
    ``UpstreamUnavailable``."""
    return _schema(tuple(sorted(settings.items())), id)


@lru_cache(maxsize=1024)
def _schema(settings: tuple[tuple[str, Any], ...], id: int) -> RegisteredSchema:
    return _request(dict(settings), str(id), lambda client: client.get_schema(id))


def _request(
    settings: Mapping[str, Any], which: str, ask: Callable[[Any], Any]
) -> RegisteredSchema:
    from confluent_kafka.schema_registry import SchemaRegistryError

    client = _client(tuple(sorted(settings.items())))
    try:
        answer = ask(client)
        imports: dict[str, str] = {}
        _gather(client, answer.references or (), imports)
        return RegisteredSchema(str(answer.schema_str), tuple(imports.items()))
    except SchemaRegistryError as error:
        if error.error_code in _MISSING:
            raise UnknownSchema(f"the registry has no schema {which}") from error
        raise _unavailable(settings, error) from error
    except UnknownSchema:
        raise
    except Exception as error:  # whatever its HTTP library comes upon
        raise _unavailable(settings, error) from error


def _gather(client: Any, references: Sequence[Any], imports: dict[str, str]) -> None:
    """Add everything that ``references`` lead to to ``imports``. Deleted schemas count too, because
    messages were written with them."""
    from confluent_kafka.schema_registry import SchemaRegistryError

    for reference in references:
        if reference.name in imports:
            continue
        try:
            imported = client.get_version(reference.subject, reference.version, deleted=True).schema
        except SchemaRegistryError as error:
            if error.error_code in _MISSING:
                version = f'version {reference.version} of "{reference.subject}"'
                missing = (
                    f'the registry has no {version}, to which a schema refers as "{reference.name}"'
                )
                raise UnknownSchema(missing) from error
            raise
        _gather(client, imported.references or (), imports)
        imports[reference.name] = str(imported.schema_str)


def register(settings: Mapping[str, Any], subject: str, avro: str) -> int:
    """Register an Avro schema, unless the subject has it, and return its id. Raises
    ``RefusedSchema``, ``UpstreamUnavailable``."""
    from confluent_kafka.schema_registry import Schema as Registered
    from confluent_kafka.schema_registry import SchemaRegistryError

    try:
        return int(
            _client(tuple(sorted(settings.items()))).register_schema(
                subject, Registered(avro, "AVRO")
            )
        )
    except SchemaRegistryError as error:
        if error.http_status_code in _REFUSED:
            raise RefusedSchema(error.error_message) from error
        raise _unavailable(settings, error) from error
    except Exception as error:  # whatever its HTTP library comes upon
        raise _unavailable(settings, error) from error


def subjects(settings: Mapping[str, Any]) -> list[str]:
    """All subjects. Raises ``UpstreamUnavailable``."""
    try:
        return list(_client(tuple(sorted(settings.items()))).get_subjects())
    except ModuleNotFoundError:  # says which extra is missing, not that the registry is
        raise
    except Exception as error:
        raise _unavailable(settings, error) from error


@lru_cache(maxsize=8)
def _client(settings: tuple[tuple[str, Any], ...]) -> SchemaRegistryClient:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient(dict(settings))


def _unavailable(settings: Mapping[str, Any], error: Exception) -> UpstreamUnavailable:
    return UpstreamUnavailable(
        f'cannot read the schema registry at "{settings["url"]}"',
        detail=str(error) or type(error).__name__,
    )
