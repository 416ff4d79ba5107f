"""Tables of any release become this release's, whoever opens them first; those of a later release
are left alone."""

from __future__ import annotations

import ast
import hashlib
import importlib
import io
import pkgutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory

import reclock
from reclock.consensus import migrations
from reclock.consensus.database.store import Consensus, metadata
from reclock.consensus.migrations import versions

FROZEN = {
    "v0007_copies.py": "f196ddf65336b9d3edd8ff7f0d787f707b0c890987928dc78a06e10c9ca904e6",
    "v0006_registrations.py": "4cc136ffd40ccda9811a9f965cebb7712e721d259c16df9678d3308209e6a6d0",
    "v0005_advisory_locks.py": "6b8503e5593c9a22c2a9e2a3cf8650168e22f85c9dca6b6c7c8bab8469220e5b",
    "v0004_probes_of_sources.py": "ebf70e46b9af3a14dbfbdc554fdeb16435c93e81f2e7501f1a31a84b8adb8829",
    "v0003_sequences.py": "e1186c06e7635c79abef59fb543da6645b5ee8da1d787ce1fd23ec214eaed795",
    "v0002_since_of_the_catalog.py": "b10f0512eb2246363d74866f0976eb93da2035f06d5a91f38cedaa12d43e9e40",
    "v0001_tables_before_versions.py": "ee1c61ac1034fc697a5c80738754a8ca71de44f8bb033bf9c43107eb135c3923",
}
"""The SHA-256 of every migration. Environments out there have run them: change none, add one."""

TABLE = migrations.VERSION_TABLE


def every_table() -> sa.MetaData:
    """``metadata``, after every module that adds to it was imported."""
    for package in ("catalog", "collections", "consensus", "oracle"):
        for module in pkgutil.iter_modules([str(Path(reclock.__path__[0]) / package)]):
            importlib.import_module(f"reclock.{package}.{module.name}")
    return metadata


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__path__[0])))
    return ScriptDirectory.from_config(config)


def test_the_migrations_make_the_tables_that_the_code_uses(consensus: Consensus) -> None:
    assert consensus.read(differences) == []


def differences(connection: sa.Connection) -> list[object]:
    """Of the tables in the database from those that the code uses."""
    context = MigrationContext.configure(
        connection, opts={"version_table": TABLE, "compare_type": True}
    )
    return compare_metadata(context, every_table())


def test_checks_of_columns_are_made_too(consensus: Consensus) -> None:
    """Alembic compares no checks."""

    def checks(connection: sa.Connection) -> dict[str, int]:
        inspector = sa.inspect(connection)
        return {name: len(inspector.get_check_constraints(name)) for name in every_table().tables}

    def wanted(table: sa.Table) -> int:
        constraints = [
            *table.constraints,
            *(one for column in table.columns for one in column.constraints),
        ]
        return sum(isinstance(constraint, sa.CheckConstraint) for constraint in constraints)

    assert consensus.read(checks) == {
        name: wanted(table) for name, table in every_table().tables.items()
    }


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_new_database_executes_the_statements_of_the_migrations(
    dialect: str, request: pytest.FixtureRequest
) -> None:
    text = Path(migrations.__path__[0]) / f"{dialect}.sql"
    if request.config.getoption("--rewrite"):
        text.write_text(statements_of_alembic(dialect))
    assert text.read_text() == statements_of_alembic(dialect)


def statements_of_alembic(dialect: str) -> str:
    """The text that Alembic would execute in an empty database."""
    buffer, directory = io.StringIO(), scripts()
    context = MigrationContext.configure(
        dialect_name=dialect,
        opts={
            "as_sql": True,
            "output_buffer": buffer,
            "version_table": TABLE,
            "transactional_ddl": False,  # the caller has begun a transaction
            "fn": lambda revision, _: directory._upgrade_revs("head", revision),
        },
    )
    with Operations.context(context):
        context.run_migrations()
    lines = buffer.getvalue().strip().removesuffix(";").splitlines()
    return "".join(line.rstrip() + "\n" for line in lines)


@pytest.mark.parametrize("version", ["0001", "0003", "0005"])
def test_the_tables_of_an_earlier_version_are_migrated(version: str, consensus_url: str) -> None:
    engine = sa.create_engine(consensus_url)
    with engine.begin() as connection:
        for statement in migrations.statements(engine.dialect.name):
            if f"-- Running upgrade {version} -> " in statement:
                break
            connection.exec_driver_sql(statement)
    engine.dispose()
    consensus = Consensus.connect(consensus_url)
    try:
        assert consensus.read(differences) == []
        assert consensus.read(migrations.is_current)
    finally:
        consensus.close()


def test_tables_from_before_versions_keep_their_rows(consensus_url: str) -> None:
    consensus = Consensus.connect(consensus_url)
    frontier = every_table().tables["reclock_frontier"]
    with sa.create_engine(consensus_url).begin() as connection:
        connection.execute(sa.insert(frontier), {"group_id": "u1", "since": 1, "upper": 2})
        connection.exec_driver_sql(f"DROP TABLE {TABLE}")
        for later in (
            *("reclock_restart", "catalog_since", "reclock_sequence"),
            *("reclock_lock_holder", "reclock_advisory_lock", "reclock_registration"),
        ):
            connection.exec_driver_sql(f"DROP TABLE {later}")
        connection.exec_driver_sql("ALTER TABLE reclock_frontier DROP COLUMN probed_at")
        connection.exec_driver_sql("ALTER TABLE reclock_environment DROP COLUMN is_copy")
    consensus.close()
    consensus = Consensus.connect(consensus_url)
    assert consensus.read(
        lambda c: c.execute(sa.select(frontier.c.group_id, frontier.c.upper)).all()
    ) == [("u1", 2)]
    assert consensus.read(migrations.is_current)
    assert consensus.read(lambda c: sa.inspect(c).has_table("reclock_restart"))
    consensus.close()


def test_tables_of_a_later_release_are_used_as_they_are(consensus_url: str) -> None:
    Consensus.connect(consensus_url).close()
    engine = sa.create_engine(consensus_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {TABLE} SET version_num = '9999'")
    consensus = Consensus.connect(consensus_url)
    assert (
        consensus.read(
            lambda connection: connection.exec_driver_sql(
                f"SELECT version_num FROM {TABLE}"
            ).scalar()
        )
        == "9999"
    )
    consensus.close()
    engine.dispose()


@pytest.mark.parametrize(
    "path", sorted(Path(versions.__path__[0]).glob("v*.py")), ids=lambda path: path.stem
)
def test_migrations_only_add(path: Path) -> None:
    calls = [
        node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    ]
    operations = {
        call.attr
        for call in calls
        if isinstance(call, ast.Attribute) and getattr(call.value, "id", None) == "op"
    }
    assert operations <= {"create_table", "create_index", "add_column"}


def test_the_version_is_that_of_the_last_migration() -> None:
    assert scripts().get_heads() == [migrations.VERSION]


def test_migrations_do_not_change() -> None:
    present = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(versions.__path__[0]).glob("v*.py")
    }
    assert present == FROZEN
