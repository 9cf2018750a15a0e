"""The house: sizes, import law, light imports, no name without use or without a line in the reference."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkcep

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sparkcep"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "demo_data" not in path.parts)
LONGEST_FILE, LONGEST_FUNCTION = 500, 60

# Room (the longest fitting prefix counts): prefixes of what it may import beside the standard library.
# "lazily" names what may be imported inside functions or for type checking only.
LAW: dict[str, tuple[str, ...]] = {
    "sparkcep.errors": (),
    "sparkcep.environment": ("sparkcep.errors", "sparkcep.private_pyspark"),
    "sparkcep.private_pyspark": (),
    "sparkcep.syntax": ("sparkcep.errors", "sparkcep.syntax", "sqlglot"),
    "sparkcep.logical": ("sparkcep.errors", "sparkcep.syntax", "sparkcep.logical", "sqlglot"),
    "sparkcep.planning": ("sparkcep.errors", "sparkcep.syntax", "sparkcep.logical", "sparkcep.planning"),
    "sparkcep.engine": (
        "sparkcep.errors",
        "sparkcep.logical.slots",
        "sparkcep.logical.outputs",
        "sparkcep.syntax.pattern",
        "sparkcep.engine",
        "pyarrow",
        "numpy",
        "numba",
    ),
    "sparkcep.explain": (
        "sparkcep.errors",
        "sparkcep.syntax",
        "sparkcep.logical",
        "sparkcep.planning",
        "sparkcep.explain_page",
    ),
    "sparkcep.explain_page": ("sparkcep.planning",),
    "sparkcep.display": ("sparkcep.errors",),
    "sparkcep.spark": ("sparkcep", "pyspark", "pyarrow", "numpy", "sqlglot"),
}
LAZILY: dict[str, tuple[str, ...]] = {
    "sparkcep.engine": ("sparkcep.logical.event_bound", "sparkcep.syntax.clause"),
    "sparkcep.explain": ("sparkcep.spark",),
    "sparkcep.display": ("altair", "pandas", "pyspark"),
    "sparkcep.private_pyspark": ("pyspark",),
}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def imported(node: ast.AST, module: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{module}: relative import"
        home = node.module or ""
        return [f"{home}.{a.name}" if f"{home}.{a.name}" in MODULES else home for a in node.names]
    return []


def imports(module: str) -> Iterator[tuple[str, bool]]:
    """Yield what a module imports, and whether that happens when it is loaded."""
    tree = MODULES[module]
    at_load = set()
    for node in tree.body:
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not is_typing:
            at_load |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        for name in imported(node, module):
            yield name, id(node) in at_load


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            documentation = ast.get_docstring(node, clean=False)
            code = length - (documentation.count("\n") + 1 if documentation else 0)
            assert code <= LONGEST_FUNCTION, f"{node.name} has {code} lines"


@pytest.mark.parametrize("module", MODULES)
def test_import_law(module: str) -> None:
    room = max((room for room in LAW if within(module, (room,))), key=len, default=None)
    if room is None:
        return
    for name, at_load in imports(module):
        if name.split(".")[0] in sys.stdlib_module_names:
            continue
        allowed = LAW[room] + (() if at_load else LAZILY.get(room, ()))
        assert within(name, allowed), f"{module} may not import {name}"


def run_python(code: str) -> str:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_engine_stands_alone() -> None:
    """The engines load where Spark, sqlglot and pandas do not exist."""
    engines = [module for module in MODULES if within(module, ("sparkcep.engine",))]
    run_python(
        "import sys\n"
        "for name in ('pyspark', 'sqlglot', 'pandas'): sys.modules[name] = None\n"
        f"import importlib\nfor name in {engines!r}: importlib.import_module(name)\n"
    )


def test_importing_sparkcep_is_light() -> None:
    """The package adds nothing heavy to what pyspark loads by itself."""
    heavy = ("numba", "sqlglot", "pyarrow", "numpy", "pandas", "altair")
    code = f"import sys\nimport {{}}\nprint([name for name in {heavy!r} if name in sys.modules])"
    assert run_python(code.format("sparkcep")) == run_python(code.format("pyspark.sql"))


def test_planning_needs_no_kernels() -> None:
    """The driver of Spark, and what analyses a table function's call, load no kernels: workers do."""
    planning = [module for module in MODULES if within(module, ("sparkcep.api", "sparkcep.planning", "sparkcep.spark"))]
    told = run_python(
        f"import importlib, sys\nfor name in {planning!r}: importlib.import_module(name)\nprint('numba' in sys.modules)"
    )
    assert told.strip() == "False"


def public_names(module: str) -> list[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in MODULES[module].body if isinstance(node, kinds) and not node.name.startswith("_")]


def test_no_public_name_without_use() -> None:
    """Whatever a module offers is used by another one, or is part of the public API."""
    words = {
        path: set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
        for path in [*FILES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]
    }
    unused = [
        f"{module}.{name}"
        for path, module in ((path, module_of(path)) for path in FILES)
        for name in public_names(module)
        if name not in sparkcep.__all__
        and not any(name in found for other, found in words.items() if other != path)
        and path.read_text(encoding="utf-8").count(name) < 2
    ]
    assert unused == []


@pytest.mark.parametrize("name", sparkcep.__all__)
def test_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(sparkcep, name)
    assert thing.__doc__
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md"))
    assert re.search(rf"`(sparkcep\.)?{name}\b", pages), f"{name} is missing in docs/reference"


def test_the_table_of_features_names_tests_that_are_there() -> None:
    table = (ROOT / "docs/reference/features.md").read_text(encoding="utf-8")
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    functions = set(re.findall(r"def (test_\w+)", "\n".join(path.read_text(encoding="utf-8") for path in tests)))
    known = functions | {path.name for path in tests}
    assert set(re.findall(r"`(test_\w+(?:\.py)?)`", table)) - known == set()


def test_every_python_file_is_typed_from_the_start() -> None:
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                assert node.returns is not None, f"{module}.{node.name} has no return type"


def test_help_shows_what_match_pattern_takes() -> None:
    planned, matched = inspect.signature(sparkcep.plan), inspect.signature(sparkcep.match_pattern)
    assert matched.parameters == planned.parameters
    assert matched.return_annotation == "DataFrame"
