-- Delinquency: when was a loan overdue by 30 days or more, until it was clear for three months in a row?
--
-- Input       loan_months (loan, month, days_past_due): one row per loan and month.
-- Result      one row per period, from the first to the last late month; cured_in is empty while it lasts.
-- Parameters  30 days (DEFINE), 3 clear months (PATTERN); a month that is a little late is not clear.
-- Source      usual rules of credit risk reports; the data are generated, with planted answers.
--
--     sparkcep run sql/delinquencies.sql --input loan_months=examples/data/loan_months.csv

SELECT *
FROM loan_months MATCH_RECOGNIZE (
    PARTITION BY loan
    ORDER BY month
    MEASURES
        FIRST(LATE.month)                                           AS first_month,
        LAST(LATE.month)                                            AS last_month,
        CAST(months_between(LAST(LATE.month), FIRST(LATE.month)) AS INT) + 1 AS months,
        MAX(days_past_due)                                          AS worst,
        LAST(CLEAR.month)                                           AS cured_in
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    -- Three clear months end the period, or the end of the data does.
    PATTERN (LATE (LATE | BETWEEN_TIMES)*? (CLEAR{3} | $))
    DEFINE
        LATE  AS days_past_due >= 30,
        CLEAR AS days_past_due = 0
) AS periods
ORDER BY loan, first_month
