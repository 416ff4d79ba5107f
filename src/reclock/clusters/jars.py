"""The Spark jars of an environment: exact versions, fetched once by the Ivy that comes with
pyspark, and checked by SHA-256."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from reclock.errors import ConfigurationError, ExtraNotInstalled


@dataclass(frozen=True, slots=True)
class Jar:
    """One artifact of Maven Central and the SHA-256 of its bytes, in hexadecimal. With a
    ``classifier`` it may be another file than a jar."""

    organisation: str
    name: str
    version: str
    sha256: str
    classifier: str = ""
    extension: str = "jar"

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"


def pinned() -> list[Jar]:
    """Every jar of the lock file ``jars.lock``."""
    return parse(files("reclock.clusters").joinpath("jars.lock").read_text())


def parse(lock: str) -> list[Jar]:
    """The jars of a lock file, one in each line: ``organisation name version sha256 [classifier
    extension]``."""
    return [Jar(*line.split()) for line in lock.splitlines() if line and not line.startswith("#")]


def spark_folder() -> Path:
    """The folder of the package ``pyspark``, which is not imported. Raises
    ``ExtraNotInstalled``."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ExtraNotInstalled("pyspark")
    return Path(spec.origin).parent


def default_folder() -> Path:
    """``share/reclock/jars`` of this Python environment."""
    return Path(sys.prefix) / "share" / "reclock" / "jars"


def missing(folder: Path, jars: Iterable[Jar]) -> list[Jar]:
    """Those of ``jars`` that are not in ``folder``."""
    return [jar for jar in jars if not (folder / jar.file_name).is_file()]


def fetch(folder: Path, jars: Iterable[Jar]) -> list[Jar]:
    """Fetch the missing jars into ``folder``, and return them. A jar appears there only when it is
    complete and checked.

    Raises ``ConfigurationError`` if a jar cannot be fetched or has another checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing_jars = missing(folder, jars)
    if not missing_jars:
        return []
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        _retrieve(missing_jars, Path(scratch))
        for jar in missing_jars:
            digest = hashlib.sha256((Path(scratch) / jar.file_name).read_bytes()).hexdigest()
            if digest != jar.sha256:
                raise ConfigurationError(
                    f'jar "{jar.file_name}" has the wrong checksum',
                    detail=f"expected {jar.sha256}, found {digest}",
                )
            os.replace(Path(scratch) / jar.file_name, folder / jar.file_name)
    return missing_jars


def _retrieve(jars: list[Jar], scratch: Path) -> None:
    """Fetch exactly these jars, without their dependencies, in one run of Ivy."""
    description, settings = scratch / "ivy.xml", scratch / "settings.xml"
    _module_of(jars).write(description)
    settings.write_text(_SETTINGS)
    [ivy] = (spark_folder() / "jars").glob("ivy-*.jar")
    options = {
        "-cache": scratch / "cache",
        "-settings": settings,
        "-ivy": description,
        "-retrieve": f"{scratch}/[artifact]-[revision](-[classifier]).[ext]",
    }
    command = [java(), "-jar", str(ivy)]
    for option, value in options.items():
        command += [option, str(value)]
    command += ["-types", *sorted({jar.extension for jar in jars})]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise ConfigurationError(
            "java is not installed", hint="install a Java 17 runtime, or set JAVA_HOME"
        ) from None
    absent = [jar.file_name for jar in jars if not (scratch / jar.file_name).is_file()]
    if outcome.returncode or absent:
        tail = (outcome.stdout + outcome.stderr).strip().splitlines()[-5:]
        raise ConfigurationError(
            f"jars could not be fetched: {', '.join(absent)}", detail="; ".join(tail)
        )


def _module_of(jars: list[Jar]) -> ElementTree.ElementTree[ElementTree.Element]:
    """Ivy's description of a module that depends on these jars."""
    module = ElementTree.Element(
        "ivy-module", {"version": "2.0", "xmlns:m": "http://ant.apache.org/ivy/maven"}
    )
    ElementTree.SubElement(module, "info", organisation="reclock", module="jars")
    dependencies = ElementTree.SubElement(module, "dependencies")
    for jar in jars:
        dependency = ElementTree.SubElement(
            dependencies,
            "dependency",
            org=jar.organisation,
            name=jar.name,
            rev=jar.version,
            transitive="false",
            conf="default->default",
        )
        if jar.classifier:
            extra = {
                "name": jar.name,
                "type": jar.extension,
                "ext": jar.extension,
                "m:classifier": jar.classifier,
            }
            ElementTree.SubElement(dependency, "artifact", extra)
    return ElementTree.ElementTree(module)


_SETTINGS = """<ivysettings>
    <settings defaultResolver="central"/>
    <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>"""
"""Maven Central without metadata: Ivy requests only the named files."""


def java() -> str:
    """The Java for Spark and Ivy: that of ``JAVA_HOME``, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"
