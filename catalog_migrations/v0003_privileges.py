"""Version 3: roles and privileges are enforced, and clusters have introspection source indexes.

- Clusters, databases, schemas and items get ``privileges``: none, but that PUBLIC may use what every environment began with (the
  system schemas, schemas called ``public``, the first database and the first cluster).
- Memberships name their grantor, ``mz_system`` for those that are there. Every role but the system's may log in, as until now.
- Privileges that were spelled out become letters.
- The cluster ``(1, 'default')``, if it is still there, gets its introspection source indexes, with new system ids.
"""

from typing import Any

SYSTEM_ROLE_ID = "s1"
FIRST_ID = 1
"""Of the database ``reclock`` and of the cluster ``default``."""

OWNED = ("cluster", "database", "schema", "item")
LETTERS = {
    "INSERT": "a",
    "SELECT": "r",
    "UPDATE": "w",
    "DELETE": "d",
    "USAGE": "U",
    "CREATE": "C",
    "CREATEROLE": "R",
    "CREATEDB": "B",
    "CREATECLUSTER": "N",
}
INTROSPECTION_RELATIONS = (
    "mz_active_peeks",
    "mz_arrangement_sizes",
    "mz_compute_error_counts",
    "mz_compute_frontiers",
    "mz_compute_hydration_times",
    "mz_dataflow_durations_histogram",
    "mz_peek_durations_histogram",
)


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 2 as those of version 3. Raises ``ValueError`` for a privilege that is
    none."""
    indexes, allocated = _source_indexes(objects)
    return [
        *indexes,
        *(allocated if _is_system_allocator(thing) else _changed(thing) for thing in objects),
    ]


def _changed(thing: dict[str, Any]) -> dict[str, Any]:
    value = thing["value"]
    match thing["kind"]:
        case kind if kind in OWNED:
            usage = {"grantee": "p", "grantor": value["owner_role_id"], "privileges": "U"}
            return _with(thing, privileges=[usage] if _is_for_all(thing) else [])
        case "role":
            login = [] if thing["key"]["id"].startswith("s") else ["login"]
            membership = dict.fromkeys(value["membership"], SYSTEM_ROLE_ID)
            return _with(thing, attributes=[*value["attributes"], *login], membership=membership)
        case "system_privilege" | "default_privilege":
            return _with(thing, privileges=_letters(value["privileges"]))
        case _:
            return thing


def _with(thing: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**thing, "value": {**thing["value"], **fields}}


def _is_for_all(thing: dict[str, Any]) -> bool:
    match thing["kind"]:
        case "cluster" | "database":
            return bool(thing["key"]["id"] == FIRST_ID)
        case "schema":
            return thing["value"]["database_id"] is None or thing["value"]["name"] == "public"
        case _:
            return False


def _letters(privileges: str) -> str:
    words = {word.strip().upper() for word in privileges.split(",")}
    if not words <= LETTERS.keys():
        raise ValueError(f"{privileges!r} names no privileges")
    return "".join(letter for word, letter in LETTERS.items() if word in words)


def _is_system_allocator(thing: dict[str, Any]) -> bool:
    return bool(thing["kind"] == "id_allocator" and thing["key"] == {"name": "system"})


def _source_indexes(objects: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The indexes of the default cluster, none if it was dropped, and the allocator of system ids
    after them."""
    allocator = next((thing for thing in objects if _is_system_allocator(thing)), None)
    if allocator is None:
        raise ValueError("there is no allocator of system ids")
    if not any(
        thing["kind"] == "cluster" and thing["key"] == {"id": FIRST_ID} for thing in objects
    ):
        return [], allocator
    first = allocator["value"]["next_id"]
    indexes = [
        {
            "kind": "cluster_introspection_source_index",
            "key": {"cluster_id": FIRST_ID, "name": name},
            "value": {"index_id": f"s{id}"},
        }
        for id, name in enumerate(INTROSPECTION_RELATIONS, start=first)
    ]
    return indexes, _with(allocator, next_id=first + len(indexes))
