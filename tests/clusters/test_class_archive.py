"""The archive of Spark's classes: what uses it, and that it is no condition."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyspark
import pytest

from reclock.clusters import class_archive, class_archive_writer, jars
from reclock.clusters.spark_options import configuration
from reclock.config import Settings


@pytest.fixture(scope="module")
def archived() -> Path:
    """The folder of the jars, with the archive that `make setup` writes."""
    folder = jars.default_folder()
    if not class_archive.path(folder).exists():
        class_archive_writer.write(folder)
    return folder


@pytest.mark.spark
def test_spark_starts_from_the_archive(archived: Path, tmp_path: Path) -> None:
    options = configuration(Settings.load(tmp_path))
    log = tmp_path / "classes.log"
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        f"--driver-class-path={options['spark.driver.extraClassPath']}",
        "--driver-java-options",
        f"{options['spark.driver.extraJavaOptions']} -Xlog:class+load:file={log}",
        "--version",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "SparkSubmit source: shared objects file (top)" in log.read_text()
    assert "[cds]" not in done.stdout + done.stderr


@pytest.mark.spark
def test_an_archive_of_another_java_is_ignored_in_silence(tmp_path: Path) -> None:
    class_archive.path(tmp_path).write_bytes(b"of another Java" * 1000)
    command = [jars.java(), *class_archive.java_options(tmp_path), "-version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == ""


def test_without_an_archive_java_has_no_option_for_it(tmp_path: Path) -> None:
    assert class_archive.java_options(tmp_path) == []
