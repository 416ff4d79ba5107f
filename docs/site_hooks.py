"""Hooks of the docs site (`make site`): the decisions come last in its navigation, and sections of
the files beside `docs/` are shown where a page links to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SECTION = re.compile(r"^\[(?P<heading>[^\]]+)\]\(\.\./(?P<file>\w+\.md)#[\w-]+\)$", re.MULTILINE)
"""A paragraph that is only a link to a section of a file in the root."""
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>(?!https?:|#)[^)]+)\)")


def on_config(config: Any) -> Any:
    folder = Path(config.docs_dir)
    decisions = sorted(path.relative_to(folder) for path in folder.glob("decisions/*.md"))
    config.nav = [*config.nav, {"Decisions": [str(path) for path in decisions]}]
    return config


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    return with_sections(markdown, Path(config.docs_dir).parent)


def with_sections(markdown: str, root: Path) -> str:
    """The page with the sections that it shows. Raises ``LookupError`` for one that is not there.
    Links in a section lead to pages of the site; those to other files become their text."""

    def shown(link: re.Match[str]) -> str:
        lines = (root / link["file"]).read_text().splitlines()
        return _LINK.sub(_of_site, "\n".join(_section(lines, link["heading"])))

    return _SECTION.sub(shown, markdown)


def _section(lines: list[str], heading: str) -> Iterator[str]:
    """The lines from the heading of the second level to the next one."""
    is_inside = is_code = has_begun = False
    for line in lines:
        is_code ^= line.lstrip().startswith("```")
        if line.startswith("## ") and not is_code:
            is_inside = line == f"## {heading}"
            has_begun |= is_inside
        if is_inside:
            yield line
    if not has_begun:
        raise LookupError(f'no section "{heading}"')


def _of_site(link: re.Match[str]) -> str:
    page = link["target"].removeprefix("docs/")
    return f"[{link['text']}]({page})" if page != link["target"] else link["text"]
