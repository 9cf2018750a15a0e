-- Overlapping ranges merged: from when to when was a room occupied without a break?
--
-- Input       bookings (room, starts_at, ends_at): bookings may overlap, touch, or lie inside each other.
-- Result      one row per stretch of time.
-- Parameters  <= joins bookings that touch; < would keep them apart.
-- Source      the classic "packing intervals" task; the data are generated, with planted answers.
--
--     sparkcep run sql/merged_ranges.sql --input bookings=examples/data/bookings.csv

SELECT *
FROM bookings MATCH_RECOGNIZE (
    PARTITION BY room
    ORDER BY starts_at, ends_at
    MEASURES
        FIRST(starts_at)                                            AS starts_at,
        MAX(ends_at)                                                AS ends_at,
        COUNT(*)                                                    AS bookings
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (JOINED* FINAL_ONE)
    -- MAX(ends_at) is the latest end of all bookings so far: the row before may end earlier than one before it.
    DEFINE JOINED AS NEXT(starts_at) <= MAX(ends_at)
) AS stretches
ORDER BY room, starts_at
