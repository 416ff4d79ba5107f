"""The modules of a package do not import each other in a circle: each can be read after those that
it imports."""

from graphlib import CycleError, TopologicalSorter

import grimp

CYCLIC: frozenset[str] = frozenset()
"""Packages that still have a cycle. None is added."""


def test_no_package_has_an_import_cycle() -> None:
    """Imports in functions and those for type checkers count."""
    graph = grimp.build_graph("reclock", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    packages = {".".join(module.split(".")[:2]) for module in imports}
    cycles = {package: cycle for package in packages if (cycle := cycle_within(package, imports))}
    assert set(cycles) == CYCLIC, cycles


def test_a_cycle_is_found() -> None:
    imports = {"a": set[str](), "a.b": {"a.c", "d"}, "a.c": {"a.e"}, "a.e": {"a.b"}, "d": {"a.b"}}
    assert set(cycle_within("a", imports)) == {"a.b", "a.c", "a.e"}
    assert cycle_within("d", imports) == []


def cycle_within(package: str, imports: dict[str, set[str]]) -> list[str]:
    """The modules of an import cycle in ``package``, or none."""
    within = {module for module in imports if module == package or module.startswith(f"{package}.")}
    try:
        TopologicalSorter({module: imports[module] & within for module in within}).prepare()
    except CycleError as error:
        modules: list[str] = error.args[1]
        return modules
    return []
