"""Whatever a user can set or meet is documented."""

from pathlib import Path

import pytest

from reclock.config import Settings
from reclock.errors import ReclockError
from reclock.introspection.builtins import BUILTINS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    text = (DOCS / "settings.md").read_text()
    assert f"| `{name}` |" in text
    description = Settings.model_fields[name].description
    assert description
    assert description in text


def _errors(root: type[ReclockError]) -> list[type[ReclockError]]:
    return [root, *(error for child in root.__subclasses__() for error in _errors(child))]


@pytest.mark.parametrize("error", _errors(ReclockError), ids=lambda error: error.__name__)
def test_every_error_is_documented(error: type[ReclockError]) -> None:
    assert f"| `{error.__name__}` | `{error.sqlstate}` |" in (DOCS / "errors.md").read_text()


@pytest.mark.parametrize("builtin", BUILTINS, ids=lambda builtin: builtin.name)
def test_every_system_relation_is_documented(builtin) -> None:
    columns = ", ".join(builtin.desc.names)
    assert f"| `{builtin.schema}.{builtin.name}` | {columns} |" in (DOCS / "system_relations.md").read_text()
