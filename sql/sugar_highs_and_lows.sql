-- Sugar highs followed by lows: when did blood sugar stay high for a quarter of an hour or more and
-- then drop, within four hours and without a hole in the readings, to a low of a quarter of an hour?
--
-- Input       glucose (measured_at, glucose_mg_dl): a sensor's reading every five minutes, with holes.
--             One person, so there is no PARTITION BY: everything is one partition.
-- Result      one row per episode in order of time.
-- Parameters  180 and 70 mg/dl, 15 minutes to the reading before (DEFINE); 3 readings high and low,
--             at most 48 readings (four hours) between them (PATTERN).
-- Source      the limits of the usual time-in-range report, on a sensor's readings of 2010.
--
--     sparkcep run sql/sugar_highs_and_lows.sql --input glucose=examples/data/glucose.parquet

SELECT *
FROM glucose MATCH_RECOGNIZE (
    ORDER BY measured_at, glucose_mg_dl
    MEASURES
        MATCH_NUMBER()                                              AS episode,
        FIRST(HIGH.measured_at)                                     AS high_from,
        LAST(HIGH.measured_at)                                      AS high_until,
        FIRST(LOW.measured_at)                                      AS low_from,
        LAST(LOW.measured_at)                                       AS low_until,
        MAX(HIGH.glucose_mg_dl)                                     AS highest,
        MIN(LOW.glucose_mg_dl)                                      AS lowest,
        timestampdiff(MINUTE, LAST(HIGH.measured_at), FIRST(LOW.measured_at)) AS minutes_of_fall
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (HIGH{3,} BETWEEN_LIMITS{0,48} LOW{3,})
    DEFINE
        HIGH           AS glucose_mg_dl > 180,
        BETWEEN_LIMITS AS glucose_mg_dl BETWEEN 70 AND 180
                          AND measured_at <= PREV(measured_at) + INTERVAL '15' MINUTE,
        LOW            AS glucose_mg_dl < 70
                          AND measured_at <= PREV(measured_at) + INTERVAL '15' MINUTE
) AS episodes
ORDER BY episode
