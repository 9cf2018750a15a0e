"""A Python for executors that has everything this one has, but not sparkcep; and a Spark that leaves nothing behind."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path

import pyspark


def bare_python(folder: Path, *, without: tuple[str, ...] = ("sparkcep",)) -> str:
    """Make a virtual environment of links to the installed packages except some; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=120)
    packages = folder / "packages"
    packages.mkdir()
    for item in (item for place in site.getsitepackages() for item in Path(place).glob("*")):
        # An editable install is a .pth file: those are not followed from another folder, and not linked either.
        left_out = item.suffix == ".pth" or item.name.split("-")[0] in without or item.name == "__pycache__"
        if not left_out and not (packages / item.name).exists():
            (packages / item.name).symlink_to(item)
    (own,) = (folder / "venv").glob("lib/python*/site-packages")
    (own / "packages.pth").write_text(str(packages), encoding="utf-8")
    return str(folder / "venv" / "bin" / "python")


def spark_home(folder: Path) -> str:
    """Make a folder of links to the installed Spark: a local cluster works in it, in place of the installation."""
    home = folder / "spark"
    home.mkdir()
    for item in Path(pyspark.__file__).parent.iterdir():
        if item.name != "work":
            (home / item.name).symlink_to(item)
    return str(home)


def environment(folder: Path, python: str) -> dict[str, str]:
    """Return the variables of a process whose executors run `python`, and cache below `folder`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR") and not name.startswith("SPARK_")
    }
    return {
        **kept,
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TZ": "UTC",
    }
