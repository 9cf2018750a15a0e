-- From–to ranges out of daily snapshots: from which day to which day did a customer have the same plan and seats?
--
-- Input       plan_snapshots (customer, day, plan, seats; seats may be NULL): one row per customer and day.
-- Result      one row per range; a missing day ends a range, NULL equals NULL.
-- Parameters  the columns that have to stay the same (DEFINE).
-- Source      the usual way from snapshots to a slowly changing dimension; generated, with planted answers.
--
--     sparkcep run sql/from_to_ranges.sql --input plan_snapshots=examples/data/plan_snapshots.csv

SELECT *
FROM plan_snapshots MATCH_RECOGNIZE (
    PARTITION BY customer
    ORDER BY day
    MEASURES
        FIRST(plan)                                                 AS plan,
        FIRST(seats)                                                AS seats,
        FIRST(day)                                                  AS valid_from,
        LAST(day)                                                   AS valid_to,
        COUNT(*)                                                    AS days
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (BEGINNING SAME*)
    DEFINE SAME AS plan <=> PREV(plan) AND seats <=> PREV(seats) AND day = date_add(PREV(day), 1)
) AS ranges
ORDER BY customer, valid_from
