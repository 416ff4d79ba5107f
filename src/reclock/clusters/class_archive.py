"""An archive of the classes that Spark loads (Java's class data sharing). A Java process that maps
it into memory starts in about half the processor time."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

SILENT = "-Xlog:cds*=off"
"""Java ignores an archive of other jars or of another Java, and would print so."""


def path(folder: Path) -> Path:
    """The archive that belongs to the jars in ``folder`` and to the installed Spark."""
    return folder / f"spark-{version('pyspark')}.jsa"


def java_options(folder: Path) -> list[str]:
    """The options by which the Java process of a session uses the archive, if there is one."""
    archive = path(folder)
    return [f"-XX:SharedArchiveFile={archive}", SILENT] if archive.exists() else []
