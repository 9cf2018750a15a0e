"""V-shapes: a price that falls day after day and then rises day after day."""

from pathlib import Path

import altair as alt
from pyspark.sql import SparkSession

import sparkcep

ROOT = Path(__file__).parents[2]


def main(spark: SparkSession, folder: Path) -> None:
    """Print the deepest V-shapes and draw them into `folder`."""
    stocks = spark.read.parquet(str(ROOT / "examples/data/stocks.parquet"))
    rows = sparkcep.match_pattern(
        stocks,
        "STRT DOWN+ UP+",
        partition_by="ticker",
        order_by="trade_date",
        define={"DOWN": "close < PREV(close)", "UP": "close > PREV(close)"},
        measures={
            "since": "FIRST(trade_date)",
            "day": "COUNT(*) - 1",
            "step": "CLASSIFIER()",
            "percent": "100 * (close / FIRST(close) - 1)",
            "fall": "100 * (FINAL LAST(DOWN.close) / FIRST(close) - 1)",
        },
        rows_per_match="all",
    )
    shapes = rows.where("step = 'STRT'").orderBy("fall", "ticker", "since")
    shapes.selectExpr("ticker", "since", "round(fall, 2) AS fall_percent").show(8)

    deepest = rows.where("fall < -19").selectExpr(
        "concat(ticker, ' ', date_format(since, 'MMM yyyy')) AS shape", "day", "percent"
    )
    chart = (
        alt.Chart(deepest.orderBy("shape", "day").toPandas(), title="The deepest V-shapes")
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("day:Q", title="trading days"),
            y=alt.Y("percent:Q", title="close, per cent of the start"),
            color=alt.Color("shape:N", title=None, legend=alt.Legend(orient="right")),
        )
        .properties(width=720, height=380)
        .configure_view(stroke=None)
    )
    chart.save(str(folder / "v_shapes.html"), inline=True)


if __name__ == "__main__":
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    main(SparkSession.builder.getOrCreate(), out)
    print(f"drawn: {out / 'v_shapes.html'}")
