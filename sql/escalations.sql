-- E-mail, call, escalation: which tickets got an e-mail, a call within two days and an escalation within a day of
-- that, without any reply in between?
--
-- Input       tickets (ticket, at, event: 'email', 'call', 'escalate', 'reply' and others).
-- Result      one row per escalation, with the first e-mail that led to it.
-- Parameters  2 days, 1 day (PATTERN).
-- Source      service agreements of support desks; the data are generated, with planted answers.
--
--     sparkcep run sql/escalations.sql --input tickets=examples/data/tickets.csv

SELECT *
FROM match_pattern(
    TABLE(tickets) PARTITION BY ticket ORDER BY at,
    pattern => 'PATTERN SEQ(email e, ~(reply r), call c WITHIN 2 days, ~(reply s), escalate x WITHIN 1 day)
                RETURN  e.at                                        AS emailed_at,
                        c.at                                        AS called_at,
                        x.at                                        AS escalated_at',
    type_column => 'event',
    matches     => 'non_overlapping'
) AS unanswered
ORDER BY escalated_at, ticket
