"""The checkout loop: shipping form, back to the cart, shipping form again, in one session without a purchase."""

from pathlib import Path

from pyspark.sql import SparkSession

import sparkcep

ROOT = Path(__file__).parents[2]


def main(spark: SparkSession, folder: Path) -> None:
    """Print the loops and draw them into `folder`."""
    events = spark.read.parquet(str(ROOT / "examples/data/shop_events.parquet"))
    steps = events.match_pattern(
        "SHIPPING (OTHER*? ADD OTHER*? CART OTHER*? AGAIN)+",
        partition_by="session_id",
        order_by=["occurred_at", "event"],
        define={
            "SHIPPING": "event = 'shipping_details'",
            "ADD": "event = 'add_to_cart'",
            "CART": "event = 'cart'",
            "AGAIN": "event = 'shipping_details'",
            "OTHER": "event <> 'purchase'",
        },
        measures={
            "minutes": "timestampdiff(SECOND, FIRST(occurred_at), occurred_at) / 60D",
            "step": "CLASSIFIER()",
            "rounds": "FINAL COUNT(AGAIN.*)",
        },
        rows_per_match="all",
    )
    loops = steps.where("step = 'SHIPPING'").select("session_id", "user_id", "platform", "occurred_at", "rounds")
    loops.orderBy("occurred_at").show(20)

    chart = sparkcep.show_timeline(
        steps.orderBy("session_id", "minutes"),
        time="minutes",
        row=["session_id", "platform"],
        colour="step",
        title="Back to the shipping form",
        subtitle="minutes since the form was met first, one line a session",
    )
    chart.save(str(folder / "checkout_loop.html"), inline=True)


if __name__ == "__main__":
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    main(SparkSession.builder.getOrCreate(), out)
    print(f"drawn: {out / 'checkout_loop.html'}")
