"""What the command line needs around it: a Java that Spark can run on, and one Python everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sparkcep.errors import CommandError
from sparkcep.private_pyspark import under_spark_submit

OLDEST_JAVA = 17
_INSTALL = "apt install openjdk-17-jre-headless · dnf install java-17-openjdk-headless · brew install openjdk@17"
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')


def use_this_python() -> None:
    """Let Spark's Python workers run the interpreter we run in, unless the caller chose one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def check_java(environment: Mapping[str, str] = os.environ) -> None:
    """Make sure that Spark will find a Java it can run on.

    Nothing is checked where a Java machine runs already (``spark-submit``) or elsewhere (Connect).

    Raises
    ------
    CommandError
        JAVA_MISSING, JAVA_TOO_OLD; says what was found and how to install one.
    """
    if under_spark_submit(environment) or "SPARK_REMOTE" in environment:
        return
    java = _java(environment)
    if java is None:
        home = environment.get("JAVA_HOME")
        raise CommandError(
            "JAVA_MISSING",
            f"Spark needs Java {OLDEST_JAVA} or newer, and there is none.",
            found=f"no bin/java in JAVA_HOME={home}" if home else "no JAVA_HOME, and no java on the PATH",
            hint=f"{_INSTALL}; or set JAVA_HOME",
        )
    banner = _banner(java)
    version = _VERSION.search(banner)
    if version is None or int(version.group(1)) < OLDEST_JAVA:
        raise CommandError(
            "JAVA_TOO_OLD" if version else "JAVA_MISSING",
            f"Spark needs Java {OLDEST_JAVA} or newer.",
            found=f"{java}: {banner.splitlines()[0] if banner else 'it does not start'}",
            hint=f"{_INSTALL}; then set JAVA_HOME",
        )


def _java(environment: Mapping[str, str]) -> str | None:
    """Return the java that Spark's start script takes: that of JAVA_HOME, else the first on the PATH."""
    home = environment.get("JAVA_HOME")
    if not home:
        return shutil.which("java", path=environment.get("PATH", ""))
    java = Path(home) / "bin" / "java"
    return str(java) if shutil.which(str(java)) else None


def _banner(java: str) -> str:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (answer.stderr + answer.stdout).strip()
