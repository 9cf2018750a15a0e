-- Lows soon after highs: which readings of 250 mg/dl and more were followed, within three hours,
-- by one of 60 mg/dl or less?
--
-- Input       glucose (measured_at, glucose_mg_dl): a sensor's reading every five minutes, with holes.
--             One person, so there is no PARTITION BY: everything is one partition.
-- Result      one row per high reading that had such a low, in order of the low; other readings lie between.
-- Parameters  250 and 60 mg/dl (types), 3 hours (WITHIN). Every high counts, and each only with the first low
--             behind it: strategy => 'skip_till_any_match' would list all pairs of a high and a low.
-- Source      a sensor's readings of 2010 (bokeh-sampledata, public domain).
--
--     sparkcep run sql/low_after_high.sql --input glucose=examples/data/glucose.parquet

SELECT *
FROM match_pattern(
    TABLE(glucose) ORDER BY (measured_at, glucose_mg_dl),
    pattern => 'PATTERN SEQ(High a, Low b)
                WHERE   skip_till_next_match { b.measured_at > a.measured_at }
                WITHIN  3 hours
                RETURN  a.measured_at                                     AS high_at,
                        a.glucose_mg_dl                                   AS high,
                        b.measured_at                                     AS low_at,
                        b.glucose_mg_dl                                   AS low,
                        timestampdiff(MINUTE, a.measured_at, b.measured_at) AS minutes',
    types   => map('High', 'glucose_mg_dl >= 250', 'Low', 'glucose_mg_dl <= 60')
) AS falls
ORDER BY low_at, high_at
