"""Whatever a user can set or meet is documented."""

import runpy
from pathlib import Path

import pytest

from reclock.config import Settings
from reclock.errors import ReclockError

ROOT = Path(__file__).parents[2]
REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference.py"))


@pytest.mark.parametrize("name", REFERENCE["PAGES"])
def test_reference_pages_say_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == REFERENCE["PAGES"][name](), "run: python docs/reference.py"


def test_every_setting_and_error_says_what_it_means() -> None:
    assert all(setting.description for setting in Settings.model_fields.values())
    assert all(error.__doc__ for error in REFERENCE["_defined"](ReclockError))


def test_readme_names_the_newcomers_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


def test_architecture_has_a_line_for_every_folder() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [path for path in (ROOT / "src" / "reclock").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [path.name for path in folders if f"`src/reclock/{path.name}/`" not in architecture] == []
