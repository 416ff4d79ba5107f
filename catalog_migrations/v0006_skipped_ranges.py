"""Version 6: the offsets that a source skipped are objects.

Before, only the audit log knew them: events of ``ALTER SOURCE … SKIP`` whose details name the
source and the bound range. Ranges of sources that no longer exist stay behind.
"""

from typing import Any


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 5, and the audit log, as those of version 6."""
    items = {thing["key"]["id"] for thing in objects if thing["kind"] == "item"}
    uppers: dict[tuple[str, str, int], int] = {}
    for thing in objects:
        details = thing["value"].get("details", {}) if thing["kind"] == "audit_log" else {}
        if details.get("decision") == "skip" and details.get("source") in items:
            key = (details["source"], details["partition"], details["lower"])
            uppers[key] = max(details["upper"], uppers.get(key, 0))
    return [*objects, *(_skipped_range(*key, upper) for key, upper in uppers.items())]


def _skipped_range(source_id: str, partition: str, lower: int, upper: int) -> dict[str, Any]:
    key = {"source_id": source_id, "partition": partition, "lower": lower}
    return {"kind": "skipped_range", "key": key, "value": {"upper": upper}}
