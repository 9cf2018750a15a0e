-- A card in two countries: which cards paid in one country and, at most an hour later, in another?
--
-- Input       payments (card, at, country; NULL on the web, where no card is shown).
-- Result      one row per pair of neighbouring payments, in order of the second.
-- Parameters  1 hour (WITHIN).
-- Source      a rule of card issuers; the data are generated, with planted answers.
--
--     sparkcep run sql/two_countries.sql --input payments=examples/data/payments.csv

SELECT *
FROM match_pattern(
    TABLE(SELECT * FROM payments WHERE country IS NOT NULL) PARTITION BY card ORDER BY at,
    pattern => 'PATTERN SEQ(_ a, _ b)
                WHERE   strict { b.country <> a.country }
                WITHIN  1 hour
                RETURN  a.country                                   AS from_country,
                        b.country                                   AS to_country,
                        a.at                                        AS first_at,
                        b.at                                        AS second_at,
                        timestampdiff(MINUTE, a.at, b.at)           AS minutes'
) AS moves
ORDER BY second_at, card
