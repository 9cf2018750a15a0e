-- W-shapes: where did a price fall, recover, fall again and recover again, three days or more each time?
--
-- Input       stocks (ticker, trade_date, close): one bar a trading day.
-- Result      one row per W, in order of time. The day before the first fall belongs to the W.
-- Parameters  3 days a leg (PATTERN).
-- Source      the double bottom of chart analysts, on daily bars of 2000 to 2013.
--
--     sparkcep run sql/w_shapes.sql --input stocks=examples/data/stocks.parquet

SELECT *
FROM stocks MATCH_RECOGNIZE (
    PARTITION BY ticker
    ORDER BY trade_date
    MEASURES
        STRT.trade_date                                             AS start_date,
        LAST(FALL.trade_date)                                       AS first_bottom,
        LAST(RISE.trade_date)                                       AS middle,
        LAST(FALL_AGAIN.trade_date)                                 AS second_bottom,
        LAST(RISE_AGAIN.trade_date)                                 AS end_date,
        COUNT(*)                                                    AS days,
        MIN(DOWN.close)                                             AS lowest,
        MAX(UP.close)                                               AS highest
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (STRT FALL{3,} RISE{3,} FALL_AGAIN{3,} RISE_AGAIN{3,})
    SUBSET DOWN = (FALL, FALL_AGAIN), UP = (RISE, RISE_AGAIN)
    DEFINE
        FALL       AS close < PREV(close),
        RISE       AS close > PREV(close),
        FALL_AGAIN AS close < PREV(close),
        RISE_AGAIN AS close > PREV(close)
) AS shapes
ORDER BY start_date, ticker
