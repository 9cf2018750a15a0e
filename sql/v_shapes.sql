-- V-shapes: where did a price fall day after day and then rise day after day?
--
-- Input       stocks (ticker, trade_date, close): one bar a trading day.
-- Result      one row per V, the deepest first. The day before the fall belongs to the V.
-- Parameters  none; {3,} behind DOWN or UP asks for longer legs.
-- Source      the classic example of row pattern recognition, on daily bars of 2000 to 2013.
--
--     sparkcep run sql/v_shapes.sql --input stocks=examples/data/stocks.parquet

SELECT *
FROM stocks MATCH_RECOGNIZE (
    PARTITION BY ticker
    ORDER BY trade_date
    MEASURES
        STRT.trade_date                                             AS start_date,
        LAST(DOWN.trade_date)                                       AS bottom_date,
        LAST(UP.trade_date)                                         AS end_date,
        COUNT(*)                                                    AS days,
        STRT.close                                                  AS start_close,
        LAST(DOWN.close)                                            AS bottom_close,
        LAST(UP.close)                                              AS end_close,
        round(100 * (LAST(DOWN.close) / STRT.close - 1), 2)         AS fall_percent,
        round(100 * (LAST(UP.close) / LAST(DOWN.close) - 1), 2)     AS rise_percent
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (STRT DOWN+ UP+)
    DEFINE
        DOWN AS close < PREV(close),
        UP   AS close > PREV(close)
) AS shapes
ORDER BY fall_percent, ticker, start_date
