-- Ten-day declines: where did a price fall on ten trading days in a row or more?
--
-- Input       stocks (ticker, trade_date, close): one bar a trading day.
-- Result      one row per decline, in order of time. The day before the first fall is start_date.
-- Parameters  10 days (PATTERN).
-- Source      a screen of chart analysts, on daily bars of 2000 to 2013.
--
--     sparkcep run sql/ten_day_declines.sql --input stocks=examples/data/stocks.parquet

SELECT *
FROM stocks MATCH_RECOGNIZE (
    PARTITION BY ticker
    ORDER BY trade_date
    MEASURES
        STRT.trade_date                                             AS start_date,
        LAST(DOWN.trade_date)                                       AS end_date,
        COUNT(DOWN.*)                                               AS falls,
        STRT.close                                                  AS start_close,
        LAST(DOWN.close)                                            AS end_close,
        round(100 * (LAST(DOWN.close) / STRT.close - 1), 2)         AS fall_percent
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (STRT DOWN{10,})
    DEFINE DOWN AS close < PREV(close)
) AS declines
ORDER BY start_date, ticker
