"""What PySpark does not promise is used in one file only, and everything that file offers is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "sparkcep"
ALLOWED = PACKAGE / "private_pyspark.py"
# Attributes of classic sessions that have no leading underscore, and do not exist on Connect or on serverless.
CLASSIC_ONLY = {"sparkContext", "rdd", "toJSON", "newAPIHadoopFile"}
NAMED_TUPLE = {"_replace", "_asdict", "_fields"}
WORDS = re.compile(
    r"^_(jdf|jvm|jsparkSession|jsc|jc|jexpr|sc|session)$|PYSPARK_GATEWAY|Column<|QueryContextLogger|sql\.connect"
)


def private_uses(text: str) -> Iterator[str]:
    """Yield private attributes of objects that may be PySpark's, its private modules, and strings that name them."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name) if "import pyspark" in text or "from pyspark" in text:
                if name in CLASSIC_ONLY or (re.match(r"_[^_]", name) and name not in NAMED_TUPLE):
                    yield f"line {node.lineno}: .{name}"
            case ast.ImportFrom(module=str(home), names=names) if home.split(".")[0] == "pyspark":
                path = [*home.split("."), *(alias.name for alias in names)]
                if any(part.startswith("_") for part in path) or {"connect", "classic", "core"} & set(path):
                    yield f"line {node.lineno}: {'.'.join(path)}"
            case ast.Constant(value=str(found)) if WORDS.search(found):
                yield f"line {node.lineno}: {found[:40]!r}"


def test_private_uses_are_in_one_file() -> None:
    found = {
        str(path.relative_to(PACKAGE)): uses
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != ALLOWED and (uses := list(private_uses(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_private_uses_are_found() -> None:
    text = """
from pyspark.sql.connect.session import SparkSession
from pyspark.sql import functions as F
def f(df, self):
    df._jdf, df.rdd, getattr(df, "_jvm"), self._own, df.__class__
"""
    assert list(private_uses(text)) == [
        "line 2: pyspark.sql.connect.session.SparkSession", "line 5: ._jdf", "line 5: .rdd", "line 5: '_jvm'",
    ]  # fmt: skip
