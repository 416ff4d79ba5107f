"""Version 8: items may be types.

The objects of version 7 stay as they are. Releases that do not know types must not open the
catalog.
"""

from typing import Any


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 7, which have no types, as those of version 8."""
    return objects
