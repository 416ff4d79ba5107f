"""What is installed is what is there."""

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_package_is_installed() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = set(setup["options"]["packages"].split())
    source = ROOT / "src"
    present = {".".join(path.parent.relative_to(source).parts) for path in source.glob("reclock/**/__init__.py")}
    assert listed == present | {"catalog_migrations"}


def test_every_module_lies_in_a_package() -> None:
    orphans = [path for path in (ROOT / "src" / "reclock").rglob("*.py") if not (path.parent / "__init__.py").is_file()]
    assert orphans == []


def test_every_locked_dependency_has_a_hash() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        entries = lock.read_text().replace("\\\n", " ").splitlines()
        bare = [entry for entry in entries if entry.strip() and "--hash=sha256:" not in entry]
        assert bare == [], lock


def test_the_smaller_locks_are_parts_of_the_whole() -> None:
    def pins(name: str) -> set[str]:
        return {line.split(" ")[0] for line in (ROOT / "requirements" / name).read_text().splitlines() if "==" in line}

    assert pins("core.txt") < pins("airflow.txt") < pins("all.txt")
