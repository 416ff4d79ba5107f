"""Version 4: the catalog names what belongs to it in consensus and in the lake.

- Items get ``incarnation``, a UUID that their collections carry too. Existing items get an empty one:
  their collections carry none.
- Roles get ``password``, the reference of their password's verifier in consensus. Only consensus knows
  which roles have a password now, and it keeps those verifiers under the ids of the roles. So each
  role gets its own id as reference, which means: the verifier under that id, if there is one.
"""

from typing import Any


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 3 as those of version 4."""
    return [_changed(thing) for thing in objects]


def _changed(thing: dict[str, Any]) -> dict[str, Any]:
    match thing["kind"]:
        case "item":
            return {**thing, "value": {**thing["value"], "incarnation": ""}}
        case "role":
            return {**thing, "value": {**thing["value"], "password": thing["key"]["id"]}}
        case _:
            return thing
