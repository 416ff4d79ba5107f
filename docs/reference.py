"""Writes the reference pages that follow from the code: ``python docs/reference.py``. A test compares them with the code."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import SecretStr

import reclock
from reclock.adapter.context.variables import VARIABLES
from reclock.config import Settings
from reclock.errors import ReclockError
from reclock.introspection.builtins import BUILTINS

DOCS = Path(__file__).parent


def settings() -> str:
    rows = []
    for name, setting in Settings.model_fields.items():
        default = setting.default.get_secret_value() if isinstance(setting.default, SecretStr) else setting.default
        shown = f"`{default}`" if str(default) else ""
        rows.append(f"| `{name}` | {shown} | {setting.description} |")
    return _page(
        "Settings",
        """Each setting has a default. `reclock.toml` in the environment's home overrides it (`log_level = "DEBUG"`), and a variable
`RECLOCK_<NAME>` overrides both (`RECLOCK_LOG_LEVEL=DEBUG`). `home` itself comes from `--home` or `RECLOCK_HOME`. Unknown names in
`reclock.toml` are an error.""",
        "| setting | default | meaning |\n|---|---|---|",
        rows,
    )


def errors() -> str:
    return _page(
        "Errors",
        """Every error has a message, a SQLSTATE, and where it helps a detail and a hint. All are subclasses of
`reclock.errors.ReclockError`; several share a SQLSTATE where a client would do the same about them.""",
        "| error | SQLSTATE | meaning |\n|---|---|---|",
        [f"| `{error.__name__}` | `{error.sqlstate}` | {_first_paragraph(error)} |" for error in _defined(ReclockError)],
    )


def system_relations() -> str:
    return _page(
        "System relations",
        """What an environment tells about itself, as relations that any query can read. They are computed when read, from the
catalog and from consensus.""",
        "| relation | columns |\n|---|---|",
        [f"| `{builtin.schema}.{builtin.name}` | {', '.join(builtin.desc.names)} |" for builtin in BUILTINS],
    )


def variables() -> str:
    return _page(
        "Session variables",
        "`SHOW name`, `SHOW ALL`, `SET name = value`, `RESET name`.",
        "| variable | default | meaning |\n|---|---|---|",
        [f"| `{name}` | {variable.default} | {variable.description} |" for name, variable in sorted(VARIABLES.items())],
    )


PAGES = {"settings.md": settings, "errors.md": errors, "system_relations.md": system_relations, "variables.md": variables}


def _page(title: str, text: str, head: str, rows: list[str]) -> str:
    return f"# {title}\n\n{text}\n\n{head}\n" + "\n".join(rows) + "\n"


def _first_paragraph(error: type[ReclockError]) -> str:
    return " ".join((error.__doc__ or "").split("\n\n")[0].split())


def _defined(root: type[ReclockError]) -> list[type[ReclockError]]:
    """The root and everything below it that the package defines, each once."""
    for module in pkgutil.walk_packages(reclock.__path__, "reclock."):
        if module.name != "reclock.consensus.migrations.env":  # a script that only Alembic can run
            importlib.import_module(module.name)
    found = {error for error in _subclasses(root) if error.__module__.startswith("reclock.")}
    return sorted(found, key=lambda error: (error.sqlstate, error.__name__))


def _subclasses(root: type[ReclockError]) -> Iterator[type[ReclockError]]:
    yield root
    for child in root.__subclasses__():
        yield from _subclasses(child)


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
