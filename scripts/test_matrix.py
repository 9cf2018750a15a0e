"""Run the suite on several PySparks, with the lowest and the newest of what each allows; see ``make test-matrix``.

MATRIX=4.0-lowest,4.3-newest chooses, TESTS="tests/spark/test_sql.py -x" replaces what pytest runs. Environments are
built once, below .matrix, by the Python that runs this file; remove a folder to build it anew.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".matrix"
PYSPARKS = ("4.0", "4.1", "4.3")
ENDS = ("lowest", "newest")
# The lowest that sparkcep allows and that there is for a Python, unless PySpark asks for more.
LOWEST = {
    (3, 10): {"pyarrow": "16.0", "numba": "0.60", "numpy": "1.24", "pandas": "2.0"},
    (3, 11): {"pyarrow": "16.0", "numba": "0.60", "numpy": "1.24", "pandas": "2.0"},
    (3, 12): {"pyarrow": "16.0", "numba": "0.60", "numpy": "1.26", "pandas": "2.1"},
    (3, 13): {"pyarrow": "18.0", "numba": "0.61", "numpy": "2.1", "pandas": "2.2"},
    (3, 14): {"pyarrow": "22.0", "numba": "0.63", "numpy": "2.3", "pandas": "2.3"},
}
# PySpark's code for Connect is generated for one major version of protobuf; the next one warns, later ones refuse it.
PROTOBUF = {"4.0": ["protobuf<6"]}
PYSPARK_ASKS = {"4.1": {"pandas": "2.2"}, "4.3": {"pandas": "2.2", "pyarrow": "18.0"}}
SUITE = (
    ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"],
    ["tests/connect"],
)


def constraints(pyspark: str, end: str) -> list[str]:
    """Return pip's constraints for an environment; what they leave open is the newest."""
    if end == "newest":
        return [*PROTOBUF.get(pyspark, []), f"pyspark=={pyspark}.*"]
    lowest = {**LOWEST[sys.version_info[:2]], "sqlglot": "26.0"}
    for name, version in PYSPARK_ASKS.get(pyspark, {}).items():
        lowest[name] = max(lowest[name], version, key=lambda text: [int(part) for part in text.split(".")])
    return [
        *PROTOBUF.get(pyspark, []),
        f"pyspark=={pyspark}.0",
        *(f"{n}=={version}.*" for n, version in lowest.items()),
    ]


def built(name: str) -> Path:
    """Return the interpreter of an environment, which is built unless it is there."""
    folder = FOLDER / name
    python, done = folder / "bin" / "python", folder / "built"
    if done.exists():
        return python
    print(f"building {folder.relative_to(ROOT)}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    chosen = folder / "constraints.txt"
    chosen.write_text("\n".join([*constraints(*name.split("-")), ""]), encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(chosen), "-e", ".[dev]"]
    subprocess.run(install, check=True, cwd=ROOT)
    done.touch()
    return python


def passes(name: str, runs: list[list[str]]) -> bool:
    """Run pytest in an environment; kernels are cached apart, for numba throws away those of another version."""
    python = built(name)
    environment = {**os.environ, "PYSPARK_PYTHON": str(python), "NUMBA_CACHE_DIR": str(FOLDER / name / "kernels")}
    told = "import pyspark, pyarrow, numba, sqlglot; print(*(f'{m.__name__} {m.__version__}' for m in "
    told += "(pyspark, pyarrow, numba, sqlglot)), sep=', ')"
    print(f"== {name}: ", end="", flush=True)
    subprocess.run([str(python), "-c", told], check=True, cwd=ROOT)
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider"]
    ended = [subprocess.run([*command, *arguments], check=False, cwd=ROOT, env=environment) for arguments in runs]
    return all(run.returncode == 0 for run in ended)


def main() -> int:
    """Run what MATRIX and TESTS say; return 1 if anything failed."""
    known = [f"{pyspark}-{end}" for pyspark in PYSPARKS for end in ENDS]
    chosen = [name.strip() for name in os.environ.get("MATRIX", "").split(",") if name.strip()] or known
    for name in chosen:
        if name not in known:
            print(f"MATRIX={name}: there are {', '.join(known)}", file=sys.stderr)
            return 2
    tests = shlex.split(os.environ.get("TESTS", ""))
    outcomes = {name: passes(name, [tests] if tests else [list(run) for run in SUITE]) for name in chosen}
    for name, passed in outcomes.items():
        print(f"{name}: {'passed' if passed else 'FAILED'}")
    return 0 if all(outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
