"""Whatever a user can set or meet is documented, and what the documentation names exists."""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from reclock.config import Settings
from reclock.errors import ReclockError
from reclock.plan.functions import AGGREGATES, SCALARS

ROOT = Path(__file__).parents[2]
REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+(?:\.(?:py|md|flow|cfg|toml|sh|yaml)|/))(?::([\w.]+))?`")
"""A file or folder in backticks, perhaps with a class, function or method in it."""
FOLDERS = (ROOT, ROOT / "src" / "reclock")
NOT_HERE = {"reclock.toml", "demo-home/", "catalog_migrations/vNNNN_what_it_does.py"}
"""What users make or name."""
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
MOST_STOPS = 20


@pytest.mark.parametrize("name", REFERENCE["PAGES"])
def test_reference_pages_say_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == REFERENCE["PAGES"][name](), (
        "run: python docs/reference.py"
    )


def test_every_setting_and_error_says_what_it_means() -> None:
    assert all(setting.description for setting in Settings.model_fields.values())
    assert all(error.__doc__ for error in REFERENCE["_defined"](ReclockError))


def test_every_function_is_in_the_page_and_says_what_it_returns() -> None:
    page = (ROOT / "docs" / "functions.md").read_text()
    for function in (*SCALARS.values(), *AGGREGATES.values()):
        assert f"| `{function.name.replace('|', chr(92) + '|')}` |" in page
        assert function.description.endswith(".")


def test_the_navigation_of_the_site_lists_every_page_once() -> None:
    listed = re.findall(
        r"^ +- (?:[\w ]+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M
    )
    pages = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert sorted(listed) == sorted(pages)  # decisions are added by docs/site_hooks.py


@pytest.mark.parametrize("name", ["quickstart", "concepts", "comparison"])
def test_pages_of_the_site_show_sections_of_other_files(name: str, tmp_path: Path) -> None:
    """With links that lead to pages of the site, or to headings of the page itself."""
    hooks = runpy.run_path(str(ROOT / "docs" / "site_hooks.py"))
    page = (ROOT / "docs" / f"{name}.md").read_text()
    shown = hooks["with_sections"](page, ROOT)
    sections = re.findall(r"^\[([^]]+)\]\(\.\./", page, re.M)
    assert sections
    assert [heading for heading in sections if f"\n## {heading}\n" not in shown] == []
    site_page = tmp_path / "page.md"
    site_page.write_text(shown)
    for target, anchor in LINK.findall(FENCE.sub("", shown)):
        path = ROOT / "docs" / target if target else site_page
        assert path.is_file()
        assert not anchor or anchor in headings(path)
    with pytest.raises(LookupError):
        hooks["with_sections"]("[Nowhere](../README.md#nowhere)", ROOT)


def test_readme_names_the_newcomers_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


def test_architecture_has_a_line_for_every_folder() -> None:
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [
        path
        for path in (ROOT / "src" / "reclock").iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert [
        path.name for path in folders if f"`src/reclock/{path.name}/`" not in architecture
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_and_functions_exist(page: Path) -> None:
    missing = []
    for name, definition in PATH.findall(page.read_text()):
        files = [folder / name for folder in FOLDERS if (folder / name).exists()]
        if not files:
            missing += [name] if name not in NOT_HERE else []
        elif definition and definition not in set(definitions(ast.parse(files[0].read_text()))):
            missing.append(f"{name}:{definition}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target, heading in LINK.findall(FENCE.sub("", page.read_text())):
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (heading and heading not in headings(path)):
            broken.append(f"{target}#{heading}")
    assert broken == []


@pytest.mark.parametrize("title", ["The path of a row", "The path of a statement"])
def test_paths_have_few_stops(title: str) -> None:
    section = (
        (ROOT / "ARCHITECTURE.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    )
    assert 1 < len(re.findall(r"^\d+\. ", section, re.MULTILINE)) < MOST_STOPS


def test_decisions_are_numbered_without_gaps() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    for path in decisions:
        text = path.read_text()
        assert text.startswith(f"# {int(path.name[:4])}. "), path.name
        assert "**Problem.**" in text, path.name
        assert "**Choice.**" in text, path.name


def definitions(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """The dotted names of the classes, functions and methods in a module."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name
            yield from definitions(child, f"{prefix}{child.name}.")


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
