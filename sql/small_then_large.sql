-- Cards tried out: on which cards did three or more tiny payments come before a large one, all within an hour?
--
-- Input       payments (card, at, amount, merchant).
-- Result      one row per large payment, in order of time.
-- Parameters  at most 2 and at least 500 (types), 3 payments, 1 hour. Other payments may lie between.
-- Source      the credit card example of the SASE papers; the data are generated, with planted answers.
--
--     sparkcep run sql/small_then_large.sql --input payments=examples/data/payments.csv

SELECT *
FROM match_pattern(
    TABLE(payments) PARTITION BY card ORDER BY at,
    pattern => 'PATTERN SEQ(Small{3,} s[], Large l)
                WHERE   skip_till_next_match { l.at > s[1].at }
                WITHIN  1 hour
                RETURN  s[1].at                                     AS first_at,
                        l.at                                        AS large_at,
                        COUNT(s)                                    AS small_payments,
                        CAST(SUM(s.amount) AS DECIMAL(10, 2))       AS small_total,
                        CAST(l.amount AS DECIMAL(10, 2))            AS large_amount,
                        l.merchant                                  AS merchant',
    types   => map('Small', 'amount <= 2', 'Large', 'amount >= 500'),
    -- Else every tiny payment would begin a match of its own; this keeps the longest.
    matches => 'non_overlapping'
) AS tried_out
ORDER BY large_at, card
