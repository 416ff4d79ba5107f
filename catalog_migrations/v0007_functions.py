"""Version 7: items may be functions.

The objects of version 6 stay as they are. Releases that do not know functions must not open the
catalog.
"""

from typing import Any


def migrate(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects of version 6, which have no functions, as those of version 7."""
    return objects
