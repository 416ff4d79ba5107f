"""What is installed is what is there, and what is imported is declared."""

import ast
import re
import sys
from configparser import ConfigParser
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from fixtures.syntax_trees import syntax_trees

ROOT = Path(__file__).parents[2]


def test_every_package_is_installed() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    source = ROOT / "src"
    present = {
        ".".join(path.parent.relative_to(source).parts) for path in source.rglob("__init__.py")
    }
    assert listed == present | {"catalog_migrations"}


def test_every_module_lies_in_a_package() -> None:
    orphans = [
        path
        for path in (ROOT / "src" / "reclock").rglob("*.py")
        if not (path.parent / "__init__.py").is_file()
    ]
    assert orphans == []


def test_every_locked_dependency_has_a_hash() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        entries = lock.read_text().replace("\\\n", " ").splitlines()
        bare = [entry for entry in entries if entry.strip() and "--hash=sha256:" not in entry]
        assert bare == [], lock


def test_the_smaller_locks_are_parts_of_the_whole() -> None:
    def pins(name: str) -> set[str]:
        return {
            line.split(" ")[0]
            for line in (ROOT / "requirements" / name).read_text().splitlines()
            if "==" in line
        }

    assert pins("core.txt") < pins("airflow.txt") < pins("all.txt")


USED_WITHOUT_IMPORT = {"grpcio-tools", "delta-spark"}
"""``protoc`` is run as a program; Delta's jars are pinned by the version of its Python package."""
WITH_ANOTHER = {"py4j": "pyspark", "pydantic-core": "pydantic", "botocore": "boto3"}
"""Parts of a declared package that must be of the version which that package chooses."""


def test_what_is_imported_is_declared_and_nothing_else() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    required = setup["options"]["install_requires"].split()
    optional = setup["options.extras_require"]["openlineage"].split()
    declared = {re.split(r"[\[=<>]", line)[0] for line in [*required, *optional]}
    names = imported_modules()
    imported = {distribution(name) for name in names if not name.startswith(AIRFLOW)} - {
        "reclock",
        None,
    }
    assert {
        WITH_ANOTHER.get(name, name) for name in imported if name
    } | USED_WITHOUT_IMPORT == declared


AIRFLOW = ("airflow.", "fastapi")
"""A namespace of several packages, and what Airflow's API server is made of. The extra ``airflow``
declares them, and an import contract says who imports them."""


CALLERS = {"apache-airflow-providers-openlineage"}
"""Providers that call ours if they are installed."""


def test_the_packages_that_the_provider_imports_are_declared_in_the_extra() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extra = {
        re.split(r"==", line)[0] for line in setup["options.extras_require"]["airflow"].split()
    }
    names = {name for name in imported_modules() if name.startswith(AIRFLOW)}
    providers = {
        re.sub(r"\.(extractors|hooks|operators|sensors|triggers)\b.*", "", name)
        for name in names
        if ".providers." in name
    }
    assert {"apache-" + name.replace(".", "-") for name in providers} - CALLERS <= extra
    assert names


@cache
def imported_modules() -> frozenset[str]:
    """The dotted names of the modules outside the standard library that the project imports."""
    names: set[str] = set()
    for tree in syntax_trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return frozenset(name for name in names if name.split(".")[0] not in sys.stdlib_module_names)


@cache
def distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


def distribution(module: str) -> str | None:
    if module.startswith("google.protobuf"):  # a namespace that several packages share
        return "protobuf"
    found = distributions().get(module.split(".")[0], [None])[0]
    return found and re.sub(r"[-_.]+", "-", found).lower()
