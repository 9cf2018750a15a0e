"""Wrong inputs and what they are told, whole texts; Spark sessions make them, golden files hold them.

``make golden``, which sets SPARKCEP_WRITE_GOLDEN, writes the files anew; review the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import SparkcepError, SparkcepWarning
from tests.spark.wrong_inputs import ARGUMENTS, IN_SPARKS_WORDS, ON_DATA, STATEMENTS, WARNINGS

GOLDEN = Path(__file__).parents[1] / "golden" / "errors"
ROWS = """
SELECT * FROM VALUES
  ('u1', timestamp'2024-01-01 10:00:00', 10, 1, 'view'),
  ('u1', timestamp'2024-01-01 10:10:00', 12, 1, 'cart'),
  ('u1', NULL, 9, 2, 'pay')
AS t(user_id, ts, price, volume, event)
"""


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.sql(ROWS)
    frame.createOrReplaceTempView("events")
    spark.sql("SELECT 'u1' AS id").createOrReplaceTempView("users")
    yield frame
    spark.catalog.dropTempView("events")
    spark.catalog.dropTempView("users")


def matched(events: DataFrame, arguments: dict[str, Any]) -> DataFrame:
    given = dict(arguments)
    keyed = {} if "MATCH_RECOGNIZE" in given["pattern"] else {"partition_by": "user_id", "order_by": "ts"}
    options = sparkcep.Options(max_steps=given.pop("max_steps")) if "max_steps" in given else None
    return events.match_pattern(given.pop("pattern"), options=options, **{**keyed, **given})


def call(arguments: dict[str, Any]) -> str:
    given = dict(arguments)
    return ", ".join([repr(given.pop("pattern")), *(f"{name}={value!r}" for name, value in given.items())])


def check(name: str, source: str, told: str) -> None:
    """Compare with the golden file, or write it."""
    path = GOLDEN / f"{name}.txt"
    if name in IN_SPARKS_WORDS:
        told, found = re.subn(r"^(\[\w+\]) .+ (\(in [^()]+\))$", r"\1 (in Spark's words) \2", told, count=1, flags=re.M)
        assert found == 1
    text = f"{source}\n\n{told}\n"
    if os.environ.get("SPARKCEP_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments(events: DataFrame, name: str) -> None:
    with pytest.raises(SparkcepError) as caught:
        matched(events, ARGUMENTS[name])
    check(name, call(ARGUMENTS[name]), str(caught.value))
    assert caught.value.clause


@pytest.mark.usefixtures("generated_code")
@pytest.mark.filterwarnings("ignore:no partition_by")
@pytest.mark.parametrize("name", STATEMENTS)
def test_wrong_statements(spark: SparkSession, events: DataFrame, name: str) -> None:
    with pytest.raises(SparkcepError) as caught:
        sparkcep.sql(spark, STATEMENTS[name])
    check(name, STATEMENTS[name], str(caught.value))


@pytest.mark.parametrize("name", ON_DATA)
def test_wrong_data(events: DataFrame, name: str) -> None:
    planned = matched(events, ON_DATA[name])
    with pytest.raises(Exception, match="MatchError") as caught:
        planned.collect()
    ours = str(caught.value).split("MatchError: ", 1)[1].rstrip().splitlines()
    told = [line for position, line in enumerate(ours) if position == 0 or line.startswith("  ")]
    check(name, call(ON_DATA[name]), "\n".join(told))


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings(events: DataFrame, name: str) -> None:
    with pytest.warns(SparkcepWarning) as caught:
        matched(events, WARNINGS[name])
    check(name, call(WARNINGS[name]), "\n".join(str(warning.message) for warning in caught))
    assert Path(caught[0].filename) == Path(__file__)


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*ARGUMENTS, *STATEMENTS, *ON_DATA, *WARNINGS}
