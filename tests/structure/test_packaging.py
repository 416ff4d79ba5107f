"""What is installed is what is there, and what is imported is declared."""

import ast
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from fixtures.syntax_trees import syntax_trees

from reclock.errors import EXTRAS, extra_not_installed

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


def test_every_file_of_the_package_is_in_the_wheel_also_the_one_that_says_it_is_typed() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    installed = re.split(r",\s*", setup["options.package_data"]["*"])
    in_source_archive = (ROOT / "MANIFEST.in").read_text().splitlines()[0].split()[2:]
    assert installed == in_source_archive
    others = [
        path
        for path in (ROOT / "src" / "reclock").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert [path for path in others if not any(path.match(glob) for glob in installed)] == []
    assert ROOT / "src" / "reclock" / "py.typed" in others


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
WITH_ANOTHER = {
    "py4j": "pyspark",
    "pydantic-core": "pydantic",
    "botocore": "boto3",
    "thrift": "pymetastore",
}
"""Parts of a declared package that must be of the version which that package chooses."""


def test_what_is_imported_is_declared_and_nothing_else() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    required = setup["options"]["install_requires"].split()
    optional = {
        line
        for extra in set(EXTRAS.values())
        for line in setup["options.extras_require"][extra].split()
    }
    declared = {re.split(r"[\[=<>]", line)[0] for line in [*required, *optional]}
    names = imported_modules()
    imported = {distribution(name) for name in names if not name.startswith(AIRFLOW)} - {
        "reclock",
        None,
    }
    assert {
        WITH_ANOTHER.get(name, name) for name in imported if name
    } | USED_WITHOUT_IMPORT == declared


OPTIONAL_ENTRIES = (
    "reclock.airflow",
    "reclock.clusters.class_archive_writer",
    "reclock.clusters.session",
    "reclock.connectors.debezium",
    "reclock.connectors.kafka",
    "reclock.sinks.iceberg",
    "reclock.sinks.kafka",
    "reclock.spark",
)
"""What may need an extra to be imported: functions import it, and nothing else does."""


@pytest.mark.parametrize(
    ("imported", "package"),
    [("py4j.protocol", "pyspark"), ("pyspark", "pyspark"), ("thrift", "pymetastore")],
)
def test_the_package_that_an_extra_installs_is_the_one_that_is_missing(
    imported: str, package: str
) -> None:
    error = extra_not_installed(ModuleNotFoundError(name=imported))
    assert error is not None
    assert error.detail == f'there is no Python package "{package}"'
    assert extra_not_installed(ModuleNotFoundError(name="unknown")) is None


def test_without_extras_everything_else_can_be_imported() -> None:
    imports = {name: set(imported_at_once(tree)) for name, tree in modules().items()}
    needy = {
        name
        for name, imported in imports.items()
        if {module.split(".")[0] for module in imported} & {*EXTRAS, "airflow"}
    }
    while more := {name for name, imported in imports.items() if imported & needy} - needy:
        needy |= more
    assert {name for name in needy if not name.startswith(OPTIONAL_ENTRIES)} == set()
    assert "reclock.connectors.kafka.connector" in needy


def modules() -> dict[str, ast.Module]:
    """The syntax trees of the package by the dotted names of its modules."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in syntax_trees().items()
        if path.is_relative_to("reclock")
    }


def imported_at_once(node: ast.AST) -> Iterator[str]:
    """What is imported with the module, not in its functions or for type checkers: modules, and
    those that have the names that are imported from them."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                continue
            case ast.Import():
                yield from (alias.name for alias in child.names)
            case ast.ImportFrom(module=str(origin)):
                yield origin
                yield from (f"{origin}.{alias.name}" for alias in child.names)
            case _:
                yield from imported_at_once(child)


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


def test_both_packages_of_pyspark_are_of_one_version() -> None:
    """They install files of the same names, so the one installed last replaces the other's. The whole
    one needs its extra for `reclock jars` and for clients of `reclock spark`."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    client = re.search(r"pyspark-client==(\S+)", extras["airflow"])
    whole = re.search(r"pyspark\[connect\]==(\S+)", extras["spark"])
    assert client
    assert whole
    assert client[1] == whole[1]


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


SHARED_NAMESPACES = {
    "google.protobuf": "protobuf",
    "opentelemetry.exporter": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry": "opentelemetry-sdk",
}
"""Which package of several has a namespace's part."""


def distribution(module: str) -> str | None:
    for namespace, package in SHARED_NAMESPACES.items():
        if module.startswith(namespace):
            return package
    found = distributions().get(module.split(".")[0], [None])[0]
    return found and re.sub(r"[-_.]+", "-", found).lower()
