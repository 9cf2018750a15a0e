"""The command line: ``sparkcep run``, ``sparkcep explain`` and ``sparkcep demo``.

Exit codes: 0 done, 1 the query or its data are at fault, 2 the call is.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sparkcep.environment import check_java, use_this_python
from sparkcep.errors import CommandError, SparkcepError
from sparkcep.private_pyspark import under_spark_submit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN = 20
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PREPARES = ("CREATE", "DECLARE", "SET", "USE")
_WORKER_MESSAGE = re.compile(r"sparkcep\.errors\.\w+: (\[[A-Z_]+\].*?)(?:\n\s*\n|\n\t?at |\nDuring handling|\Z)", re.S)


class Input(NamedTuple):
    """A table of the query and the file it comes from."""

    name: str
    path: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments
        Without the name of the program; by default those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.command != "demo":
            _check_files(options)
        use_this_python()
        check_java()
        _serve(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        text = _told(error)
        if text is None:
            raise
        print(text, file=sys.stderr)
        return 2 if isinstance(error, CommandError) else 1
    return 0


def _serve(options: argparse.Namespace) -> None:
    from sparkcep.spark.quiet import query_errors_unlogged

    command: Callable[[argparse.Namespace], None] = options.serve
    with query_errors_unlogged():
        command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sparkcep", description="Find patterns of events with Spark.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a SQL file with MATCH_RECOGNIZE over files")
    explain = commands.add_parser("explain", help="say how the patterns of a SQL file would be matched")
    demo = commands.add_parser("demo", help="find chains of late departures in a year of flights")
    for command in (run, explain):
        command.add_argument("query", metavar="QUERY.sql", help="one or more statements; the last one is the result")
        command.add_argument(
            "--input",
            metavar="NAME=PATH",
            type=_input,
            action="append",
            default=[],
            help="a table of the query: .parquet, .csv (with header), .json; may be given often",
        )
        command.add_argument(
            "--dialect",
            choices=["trino", "oracle", "snowflake", "flink"],
            help="the system that the file is written for; what is changed is told",
        )
    run.add_argument("--output", metavar="PATH", help="write the result: .parquet, .csv or .json")
    run.add_argument("--overwrite", action="store_true", help="replace what is at --output")
    run.add_argument("--show", metavar="N", type=_count, help=f"print N rows (default {SHOWN}, or 0 with --output)")
    explain.add_argument(
        "--format", choices=["text", "mermaid", "html"], default="text", help="text, a flow chart, or a page"
    )
    demo.add_argument("--output", metavar="FILE", action="append", default=[], help="draw a picture: .html, .png, .svg")
    for command, serve in ((run, _run), (explain, _explain), (demo, _demo)):
        command.add_argument("--master", metavar="URL", help="where Spark runs, such as 'local[4]'")
        command.set_defaults(serve=serve)
    return parser


def _version() -> str:
    from sparkcep import __version__

    return f"sparkcep {__version__}"


def _input(text: str) -> Input:
    name, equals, path = text.partition("=")
    if not equals or not path or not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=PATH, such as flights=data/flights.parquet")
    return Input(name, path)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows")
    return int(text)


def _check_files(options: argparse.Namespace) -> None:
    """Find what is wrong with the call before Spark starts, which takes seconds."""
    from sparkcep.spark.files import format_of

    if not Path(options.query).is_file():
        raise CommandError("FILE_NOT_FOUND", f"There is no file '{options.query}'.")
    output = getattr(options, "output", None)
    for path in (*(table.path for table in options.input), *([output] if output else ())):
        format_of(path)
    for table in options.input:
        if _is_local(table.path) and not glob.glob(table.path):
            raise CommandError("FILE_NOT_FOUND", f"There is no file '{table.path}' for the table '{table.name}'.")
    if output and _is_local(output) and Path(output).exists() and not options.overwrite:
        raise CommandError("FILE_EXISTS", f"'{output}' is there already.", hint="--overwrite replaces it")


def _is_local(path: str) -> bool:
    """Whether we can look for the file ourselves: under spark-submit a path may belong to another file system."""
    return "://" not in path and not under_spark_submit() and "SPARK_REMOTE" not in os.environ


def _session(master: str | None) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("sparkcep")
    if master:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    if not under_spark_submit() and "SPARK_REMOTE" not in os.environ:
        for key, value in _quiet_settings().items():
            builder = builder.config(key, value)
    return builder.getOrCreate()


def _quiet_settings() -> dict[str, str]:
    """Settings of a Spark that we start ourselves: no log lines, and a progress bar for who watches."""
    log = Path(__file__).with_name("log4j2.properties").as_uri()
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log}",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.ui.enabled": "false",
    }


def _opened(options: argparse.Namespace) -> tuple[SparkSession, list[str]]:
    """Start Spark, name the inputs, and read the statements."""
    from sparkcep.spark.files import read_table
    from sparkcep.syntax.statements import split_statements

    statements = split_statements(Path(options.query).read_text(encoding="utf-8"))
    if not statements:
        raise CommandError("EMPTY_QUERY", f"There is no statement in '{options.query}'.")
    if options.dialect:
        statements = [_translated(statement, options.dialect) for statement in statements]
    spark = _session(options.master)
    for table in options.input:
        read_table(spark, table.path).createOrReplaceTempView(table.name)
    return spark, statements


def _translated(statement: str, dialect: str) -> str:
    """Translate a statement of another system, and tell what changed."""
    from sparkcep.syntax.dialects import translate

    found = translate(statement, dialect)
    for change in found.changes:
        print(f"Translated: {change}", file=sys.stderr)
    return found.text


def _run(options: argparse.Namespace) -> None:
    from sparkcep.api import sql
    from sparkcep.spark.files import write_table

    spark, statements = _opened(options)
    for statement in statements[:-1]:
        sql(spark, statement)
    result = sql(spark, statements[-1])
    if not result.columns:
        print("done")
        return
    shown = options.show if options.show is not None else 0 if options.output else SHOWN
    if shown or not options.output:
        result = result.persist()
        _show(result, shown)
    if options.output:
        rows = write_table(result, options.output, overwrite=options.overwrite)
        print(f"{rows:,} rows written to {options.output}")


def _show(result: DataFrame, shown: int) -> None:
    from sparkcep.display import text_table

    found = result.count()
    if shown:
        print(text_table(result.columns, result.limit(shown).collect()))
        print()
    print(f"{found:,} rows" + (f", {shown:,} shown" if 0 < shown < found else ""))


def _explain(options: argparse.Namespace) -> None:
    from sparkcep.api import sql
    from sparkcep.planning.plans import Options
    from sparkcep.spark.session import statement_plans

    spark, statements = _opened(options)
    explained = []
    for position, statement in enumerate(statements):
        explained += [plan.explain(options.format) for plan in statement_plans(spark, statement, Options())]
        if position < len(statements) - 1 and statement.split(None, 1)[0].upper() in _PREPARES:
            sql(spark, statement)
    if not explained:
        raise SparkcepError("NO_PATTERN", f"There is no MATCH_RECOGNIZE clause in '{options.query}'.")
    print("\n\n".join(explained))


def _demo(options: argparse.Namespace) -> None:
    from sparkcep.demo import check_picture, run_demo

    for path in options.output:
        check_picture(path)
    print(run_demo(_session(options.master), options.output))


def _told(error: Exception) -> str | None:
    """Return what the reader should see of an error, or None if it is a fault of ours."""
    if isinstance(error, (SparkcepError, OSError, UnicodeDecodeError)):
        return str(error)
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        return None
    if not isinstance(error, PySparkException):
        return None
    text = str(error)
    of_worker = _WORKER_MESSAGE.findall(text)
    if of_worker:
        return str(of_worker[-1]).strip()
    return text.split("\n\nJVM stacktrace:", 1)[0].split("\nDriver stacktrace:", 1)[0].strip()
