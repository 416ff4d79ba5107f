"""Errors of the catalog and of the objects in it."""

from __future__ import annotations

from pathlib import Path

from reclock.errors.names import item_name, quoted_name, with_article
from reclock.errors.root import ReclockError


class CatalogError(ReclockError):
    """The durable catalog cannot carry out the operation."""

    sqlstate = "58000"


class CatalogUninitialized(CatalogError):
    """The catalog has never been opened for writing."""

    def __init__(self, home: Path | None = None) -> None:
        super().__init__(
            "the catalog is not initialized",
            detail=f'there is no environment in "{home.absolute()}"' if home is not None else None,
            hint=(
                'run "reclock init", or name the folder of an environment by --home or RECLOCK_HOME'
            ),
        )


class CatalogReadOnly(CatalogError):
    """A write to a catalog that was opened read-only."""

    sqlstate = "25006"

    def __init__(self) -> None:
        super().__init__("the catalog is open read-only")


class CatalogSealed(CatalogError):
    """The catalog is being converted to another implementation; no process joins it until that is
    done or abandoned."""

    sqlstate = "55006"

    def __init__(self) -> None:
        super().__init__(
            "the catalog is sealed: it is being converted",
            hint=(
                'wait; if the conversion died, run "reclock catalog convert" again, or '
                '"reclock init" to go on without it'
            ),
        )


class CatalogVersionUnsupported(CatalogError):
    """The catalog was written by a newer version, or no migration leads from its version to this
    one."""

    def __init__(self, *, version: int, supported: int) -> None:
        super().__init__(
            f"the catalog has version {version}, this program supports up to {supported}",
            hint="use a newer release of reclock"
            if version > supported
            else '"reclock init" and "reclock tick" migrate the catalog; "reclock catalog '
            'upgrade-check" says before whether they can',
        )
        self.version, self.supported = version, supported


class MigrationFailed(CatalogError):
    """A catalog migration failed; nothing of it was stored."""

    def __init__(self, version: int, *, detail: str) -> None:
        super().__init__(f"catalog migration to version {version} failed", detail=detail)
        self.version = version


class CatalogCorrupt(CatalogError):
    """The stored catalog holds an object that no release of Reclock wrote. Names its kind and key,
    and the fault."""

    sqlstate = "XX001"

    def __init__(self, kind: str, key: str, *, detail: str) -> None:
        super().__init__(f'catalog object {kind} "{key}" is corrupt', detail=detail)
        self.kind, self.key = kind, key


class EditRefused(CatalogError):
    """An edit of the catalog by hand is refused: its value is not a valid object, is protected, or
    would break the catalog."""

    sqlstate = "22023"

    def __init__(self, kind: str, key: str, *, is_removal: bool, detail: str | None) -> None:
        super().__init__(
            f'catalog object {kind} "{key}" cannot be {"deleted" if is_removal else "stored"}',
            detail=detail,
        )
        self.kind, self.key = kind, key


class CatalogImplementationsDiffer(CatalogError):
    """Two implementations of the catalog answered one call differently, without a write in
    between."""

    sqlstate = "XX001"

    def __init__(self, call: str, *, primary: str, secondary: str) -> None:
        super().__init__(
            f'the implementations of the catalog differ in "{call}"',
            detail=f"primary: {primary}; secondary: {secondary}",
        )
        self.call, self.primary, self.secondary = call, primary, secondary


class DuplicateObject(ReclockError):
    """An object of that name exists already. The code is `42P07` for a relation, an index or a
    sequence, `42P06` for a schema, `42P04` for a database, and `42723` for a function."""

    sqlstate = "42710"

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.sqlstate = _DUPLICATES.get(kind, self.sqlstate)
        written, detail = f"{kind} {quoted_name(name)} already exists", None
        if self.sqlstate == "42P07":
            written = f'relation "{item_name(name)}" already exists'
            detail = f"{quoted_name(name)} is {with_article(kind)}"
        elif kind == "function":
            function = item_name(name).partition("(")[0]
            written = f'function "{function}" already exists with same argument types'
            detail = f"it is {quoted_name(name)}"
        elif kind == "type":
            written = f'type "{item_name(name)}" already exists'
        super().__init__(written, detail=detail)


_DUPLICATES = {
    "schema": "42P06",
    "database": "42P04",
    "function": "42723",
    **dict.fromkeys(
        ("table", "view", "materialized view", "index", "sequence", "source", "progress relation"),
        "42P07",
    ),
}


class UnknownObject(ReclockError):
    """No object of that kind has that name. The code is `3F000` for a schema, `3D000` for a
    database, and `42883` for a function."""

    sqlstate = "42704"
    wording = "{} {} does not exist"

    def __init__(
        self, kind: str, name: str, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(self.wording.format(kind, quoted_name(name)), detail=detail, hint=hint)
        self.kind, self.name = kind, name
        self.sqlstate = _UNKNOWN.get(kind, self.sqlstate)


class UnknownVariable(UnknownObject):
    """No variable of sessions has that name."""

    wording = "unrecognized {} {}"

    def __init__(self, name: str, *, hint: str | None = None) -> None:
        super().__init__("configuration parameter", name, hint=hint)


class NoSchemaSelected(ReclockError):
    """An object without a schema in its name cannot be created, and objects are not shown: no schema
    of `search_path` exists."""

    sqlstate = "3F000"

    def __init__(self, purpose: str = "create in") -> None:
        super().__init__(f"no schema has been selected to {purpose}", hint="see SHOW search_path")


_UNKNOWN = {"schema": "3F000", "database": "3D000", "function": "42883"}


class DependentObjects(ReclockError):
    """A drop without CASCADE would break dependent objects."""

    sqlstate = "2BP01"

    def __init__(self, kind: str, name: str, dependents: list[str], *, of: str = "") -> None:
        """``of`` is the table of a column or constraint, as in ``of table t``."""
        super().__init__(
            f"cannot drop {kind} {item_name(name)}{of and f' {of}'} because other objects depend on it",
            detail="; ".join(f"{quoted_name(dependent)} depends on it" for dependent in dependents),
            hint="use DROP ... CASCADE to drop the dependent objects too",
        )
        self.kind, self.name, self.dependents = kind, name, dependents


class DatabaseInUse(ReclockError):
    """A session cannot rename or drop the database it is in, or the one where sessions begin."""

    sqlstate = "55006"

    def __init__(self, change: str, name: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"cannot {change} database {quoted_name(name)}: {reason}", hint=hint)
        self.name = name


class InvalidViewReplacement(ReclockError):
    """CREATE OR REPLACE VIEW would take a column from the objects that depend on the view."""

    sqlstate = "42P16"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)


class RequiredIndex(ReclockError):
    """A drop would leave a materialized view without the index that maintains it."""

    sqlstate = "2BP01"

    def __init__(self, index: str, view: str) -> None:
        super().__init__(
            f"cannot drop index {quoted_name(index)} because materialized view "
            f"{quoted_name(view)} requires it",
            hint=(
                "create another index on the view first, or use DROP INDEX ... CASCADE to "
                "keep it as a plain view"
            ),
        )
        self.index, self.view = index, view
