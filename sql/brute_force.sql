-- Guessed passwords: whose log-in failed five times or more and then succeeded, within ten minutes, from
-- another address than the one that had succeeded last?
--
-- Input       logins (user, at, address, outcome: 'ok' or 'failed').
-- Result      one row per break-in, in order of time.
-- Parameters  5 failures (PATTERN), 10 minutes from the first failure to the success (DEFINE).
-- Source      a rule that every security monitor ships; the data are generated, with planted answers.
--
--     sparkcep run sql/brute_force.sql --input logins=examples/data/logins.csv

SELECT *
FROM logins MATCH_RECOGNIZE (
    PARTITION BY user
    ORDER BY at
    MEASURES
        COUNT(FAILED.*)                                             AS failures,
        FIRST(FAILED.at)                                            AS first_failure,
        ENTERED.at                                                  AS entered_at,
        timestampdiff(SECOND, FIRST(FAILED.at), ENTERED.at)         AS seconds,
        KNOWN.address                                               AS known_address,
        ENTERED.address                                             AS new_address
    ONE ROW PER MATCH
    -- The success that ends one match is the known address of the next.
    AFTER MATCH SKIP TO LAST ENTERED
    PATTERN (KNOWN FAILED{5,} ENTERED)
    DEFINE
        KNOWN   AS outcome = 'ok',
        FAILED  AS outcome = 'failed',
        ENTERED AS outcome = 'ok'
                   AND address <> KNOWN.address
                   AND at <= FIRST(FAILED.at) + INTERVAL '10' MINUTE
) AS break_ins
ORDER BY entered_at, user
