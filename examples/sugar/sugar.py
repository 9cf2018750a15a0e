"""Sugar highs followed by lows: above 180 mg/dl for a quarter of an hour, below 70 within four hours."""

import warnings
from pathlib import Path

import altair as alt
from pyspark.sql import SparkSession

import sparkcep

ROOT = Path(__file__).parents[2]
SOON = "measured_at <= PREV(measured_at) + INTERVAL '15' MINUTE"


def main(spark: SparkSession, folder: Path) -> None:
    """Print the episodes and draw some of them into `folder`."""
    readings = spark.read.parquet(str(ROOT / "examples/data/glucose.parquet"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparkcep.SparkcepWarning)  # one person, so there is no key to partition by
        rows = sparkcep.match_pattern(
            readings,
            "HIGH{3,} MIDDLE{0,48} LOW{3,}",
            order_by=["measured_at", "glucose_mg_dl"],
            define={
                "HIGH": "glucose_mg_dl > 180",
                "MIDDLE": f"glucose_mg_dl BETWEEN 70 AND 180 AND {SOON}",
                "LOW": f"glucose_mg_dl < 70 AND {SOON}",
            },
            measures={
                "episode": "MATCH_NUMBER()",
                "highest": "FINAL MAX(HIGH.glucose_mg_dl)",
                "lowest": "FINAL MIN(LOW.glucose_mg_dl)",
                "hours": "timestampdiff(MINUTE, FINAL LAST(HIGH.measured_at), measured_at) / 60D",
                "first_row": "COUNT(*) = 1",
            },
            rows_per_match="all",
        )
    rows = rows.persist()
    rows.where("first_row").select("episode", "measured_at", "highest", "lowest").orderBy("episode").show(10)

    worst = rows.where("highest > 250 AND hours >= -2").selectExpr(
        "episode",
        "hours",
        "glucose_mg_dl AS glucose",
    )
    curves = alt.Chart(worst.orderBy("episode", "hours").toPandas()).mark_line(strokeWidth=2, opacity=0.8)
    limits = alt.Chart().mark_rule(strokeDash=[4, 4], color="#7b8794")
    chart = alt.layer(
        curves.encode(
            x=alt.X("hours:Q", title="hours since the last reading above 180 mg/dl"),
            y=alt.Y("glucose:Q", title="mg/dl"),
            color=alt.Color("episode:N", title="episode"),
        ),
        *(limits.encode(y=alt.datum(limit)) for limit in (70, 180)),
        title="From a high to a low",
    )
    chart = chart.properties(width=720, height=380).configure_view(stroke=None)
    chart.save(str(folder / "sugar.html"), inline=True)
    rows.unpersist()


if __name__ == "__main__":
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    main(SparkSession.builder.getOrCreate(), out)
    print(f"drawn: {out / 'sugar.html'}")
