"""Java is looked for as Spark's start script does, and what is wrong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkcep.environment import check_java
from sparkcep.errors import CommandError


def java_home(folder: Path, banner: str) -> str:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("banner", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19'])
def test_new_enough(tmp_path: Path, banner: str) -> None:
    check_java({"JAVA_HOME": java_home(tmp_path, banner)})


@pytest.mark.parametrize("banner", ['openjdk version "1.8.0_392"', 'openjdk version "11.0.21" 2023-10-17'])
def test_too_old(tmp_path: Path, banner: str) -> None:
    with pytest.raises(CommandError) as caught:
        check_java({"JAVA_HOME": java_home(tmp_path, banner)})
    assert caught.value.code == "JAVA_TOO_OLD"
    assert banner in str(caught.value)
    assert "apt install openjdk-17" in str(caught.value)


def test_not_a_java(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="JAVA_MISSING"):
        check_java({"JAVA_HOME": java_home(tmp_path, "hello")})


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no java on the PATH"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(CommandError, match="no bin/java in JAVA_HOME"):
        check_java({"JAVA_HOME": str(tmp_path)})


def test_found_on_the_path(tmp_path: Path) -> None:
    home = java_home(tmp_path, 'openjdk version "17"')
    check_java({"PATH": f"{home}/bin"})


@pytest.mark.parametrize("variable", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"])
def test_not_needed_where_spark_runs_already(tmp_path: Path, variable: str) -> None:
    check_java({"PATH": str(tmp_path), variable: "1"})
