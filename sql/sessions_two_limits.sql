-- Sessions with two limits: when was a visitor active, if an hour without an event ends a session, and so do two
-- hours in total?
--
-- Input       page_views (visitor, at).
-- Result      one row per session, the longest first; ended_by is 'idle', 'limit' or 'end of data'.
-- Parameters  1 hour idle, 2 hours in total (DEFINE, and ended_by); both may be reached exactly.
-- Source      web analytics; a session window of Spark knows only the first limit. The data are generated, with
--             planted answers.
--
--     sparkcep run sql/sessions_two_limits.sql --input page_views=examples/data/page_views.csv

SELECT *
FROM page_views MATCH_RECOGNIZE (
    PARTITION BY visitor
    ORDER BY at
    MEASURES
        MATCH_NUMBER()                                              AS session,
        FIRST(at)                                                   AS started_at,
        LAST(at)                                                    AS ended_at,
        COUNT(*)                                                    AS events,
        timestampdiff(SECOND, FIRST(at), LAST(at))                  AS seconds,
        CASE
            WHEN NEXT(at) IS NULL THEN 'end of data'
            WHEN NEXT(at) > LAST(at) + INTERVAL '1' HOUR THEN 'idle'
            ELSE 'limit'
        END                                                         AS ended_by
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (OPENING FURTHER*)
    DEFINE FURTHER AS
        at <= PREV(at) + INTERVAL '1' HOUR
        AND at <= FIRST(at) + INTERVAL '2' HOUR
) AS sessions
ORDER BY seconds DESC, visitor, session
