"""The command line, in this process on the suite's session; once as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli import main

ROOT = Path(__file__).parents[2]
CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY t MEASURES COUNT(*) AS n, LAST(B.v) AS v PATTERN (A B+) DEFINE B AS v > PREV(v))"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text("k,t,v\na,1,10\na,2,11\na,3,12\nb,1,5\nb,2,4\nb,3,6\n", encoding="utf-8")
    return path


@pytest.fixture
def call(
    spark: SparkSession, no_views_left: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def called(command: str, query: str, *arguments: object) -> tuple[int, str, str]:
        file = tmp_path / "query.sql"
        file.write_text(query, encoding="utf-8")
        code = main([command, str(file), *map(str, arguments)])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out, printed.err

    return called


def test_shows_rows_and_their_number(call: Run, prices: Path) -> None:
    code, out, _ = call("run", f"SELECT * FROM prices {CLAUSE} AS m ORDER BY k", "--input", f"prices={prices}")
    assert code == 0
    assert out.splitlines() == ["k  n   v", "─  ─  ──", "a  3  12", "b  2   6", "", "2 rows"]


def test_shows_fewer(call: Run, prices: Path) -> None:
    query = f"SELECT * FROM prices {CLAUSE} AS m ORDER BY k"
    _, out, _ = call("run", query, "--input", f"prices={prices}", "--show", 1)
    assert out.splitlines()[2:] == ["a  3  12", "", "2 rows, 1 shown"]


@pytest.mark.parametrize("extension", ["parquet", "csv", "json"])
def test_writes_by_extension_and_reads_it_again(call: Run, prices: Path, tmp_path: Path, extension: str) -> None:
    written = tmp_path / f"out.{extension}"
    query = f"SELECT * FROM prices {CLAUSE} AS m ORDER BY k"
    code, out, _ = call("run", query, "--input", f"prices={prices}", "--output", written)
    assert (code, out) == (0, f"2 rows written to {written}\n")
    _, again, _ = call("run", "SELECT k, n, v FROM t ORDER BY k", "--input", f"t={written}")
    assert again.splitlines()[2:4] == ["a  3  12", "b  2   6"]
    code, _, err = call("run", query, "--input", f"prices={prices}", "--output", written)
    assert code > 0
    assert "EXISTS" in err
    code, _, _ = call("run", query, "--input", f"prices={prices}", "--output", written, "--overwrite")
    assert code == 0


@pytest.mark.classic_only(reason="paths of a Connect session are the server's")
def test_an_output_that_is_there_is_told_before_spark_starts(call: Run, tmp_path: Path) -> None:
    (tmp_path / "out.csv").touch()
    code, _, err = call("run", "SELECT 1 AS x", "--output", tmp_path / "out.csv")
    assert code == 2
    assert "FILE_EXISTS" in err


def test_statements_run_in_order_and_the_last_is_shown(call: Run, prices: Path) -> None:
    query = f"""
        -- first a view; then its rows
        CREATE OR REPLACE TEMPORARY VIEW growing AS SELECT * FROM prices {CLAUSE} AS m;
        SELECT k, ';' AS mark FROM growing WHERE n = 3;"""
    _, out, _ = call("run", query, "--input", f"prices={prices}")
    assert out.splitlines()[2:] == ["a  ;", "", "1 rows"]


def test_a_query_of_another_system_tells_what_changed(call: Run, prices: Path) -> None:
    clause = CLAUSE.replace("PREV(v)", "LAG(v)").replace("ORDER BY t", "ORDER BY t NULLS LAST")
    query = f"SELECT k, n::STRING AS n FROM prices {clause} AS m ORDER BY k NULLS LAST"
    code, out, err = call("run", query, "--input", f"prices={prices}", "--dialect", "snowflake")
    assert (code, out.splitlines()[2:4]) == (0, ["a  3", "b  2"])
    assert err.splitlines() == [
        "Translated: DEFINE B: LAG became PREV",
        "Translated: around the clauses the text was translated too",
    ]


def test_a_statement_without_rows(call: Run, prices: Path) -> None:
    query = "CREATE OR REPLACE TEMPORARY VIEW w AS SELECT 1 AS x"
    assert call("run", query, "--input", f"prices={prices}")[:2] == (0, "done\n")


def test_explain_runs_nothing_and_names_the_engine(call: Run, prices: Path) -> None:
    code, out, _ = call("explain", f"SELECT * FROM prices {CLAUSE} AS m", "--input", f"prices={prices}")
    assert code == 0
    assert "Pattern: A B+" in out
    assert "* sweep" in out
    code, _, err = call("explain", "SELECT 1")
    assert code == 1
    assert "NO_PATTERN" in err


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"SELECT * FROM prices {CLAUSE.replace('A B+', 'A B+)')} AS m", "UNBALANCED_BRACKET"),
        (f"SELECT * FROM prices {CLAUSE.replace('v > PREV', 'w > PREV')} AS m", "there is no column 'w'"),
        (f"SELECT * FROM price {CLAUSE} AS m", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT nothing FROM prices", "UNRESOLVED_COLUMN"),
        ("SELEC 1", "PARSE_SYNTAX_ERROR"),
        ("SELECT 1 / (k - k) FROM (SELECT 1 AS k)", "DIVIDE_BY_ZERO"),
    ],
)
def test_errors_of_the_query_are_told_without_traceback(call: Run, prices: Path, query: str, message: str) -> None:
    code, out, err = call("run", query, "--input", f"prices={prices}")
    assert (code, out) == (1, "")
    assert message in err
    assert "JVM stacktrace" not in err


def test_errors_that_only_data_can_show_come_from_the_worker(call: Run, tmp_path: Path) -> None:
    query = """SELECT * FROM (VALUES (1, 'x'), (NULL, 'y')) AS t(o, v) MATCH_RECOGNIZE (
        ORDER BY o MEASURES COUNT(*) AS n PATTERN (A B) WITHIN 5) AS m"""
    code, _, err = call("run", query)
    assert code == 1
    assert err.startswith("[NULL_ORDER_VALUE]")
    assert "File " not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--input", "t=nowhere.csv"],
            "FILE_NOT_FOUND",
            marks=pytest.mark.classic_only(reason="paths of a Connect session are the server's"),
        ),
        (["--input", "t=table.xlsx"], "UNKNOWN_EXTENSION"),
        (["--output", "result.xlsx"], "UNKNOWN_EXTENSION"),
    ],
)
def test_errors_of_the_call(call: Run, arguments: list[str], message: str) -> None:
    code, _, err = call("run", "SELECT 1", *arguments)
    assert code == 2
    assert message in err


def test_an_empty_query_and_a_missing_one(call: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call("run", "-- nothing but a comment\n")
    assert code == 2
    assert "EMPTY_QUERY" in err
    assert main(["run", "nowhere.sql"]) == 2
    assert "FILE_NOT_FOUND" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["--input", "flights"], ["--input", "1x=a.csv"], ["--show", "-1"], ["--dialect", "duckdb"], ["--what"]],
)
def test_arguments_that_cannot_be_read(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "query.sql", *arguments])
    assert caught.value.code == 2


def test_the_demonstration(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("altair")
    picture, page = tmp_path / "new" / "chains.png", tmp_path / "chains.html"
    assert main(["demo", "--output", str(picture), "--output", str(page)]) == 0
    out = capsys.readouterr().out
    assert "2,025 times" in out
    assert "6,797 late departures" in out
    assert " 1  N561JB  Tue 25 Jun 18:00 – Sun 30 Jun 17:11   9 late" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert 'src="http' not in page.read_text(encoding="utf-8")
    assert main(["demo", "--output", "chains.doc"]) == 2


@pytest.mark.classic_only(reason="starts a Spark of its own")
def test_as_a_process_of_its_own(prices: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.sql"
    query.write_text(f"SELECT * FROM prices {CLAUSE} AS m ORDER BY k", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sparkcep",
        "run",
        str(query),
        "--input",
        f"prices={prices}",
        "--master",
        "local[1]",
    ]
    # One query: a virtual machine that starts fast is worth more than one that runs fast.
    environment = os.environ | {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[2:] == ["a  3  12", "b  2   6", "", "2 rows"]
    noise = [line for line in finished.stderr.splitlines() if "incubator" not in line]
    assert noise == []
