-- Orders not paid: which orders were neither paid nor cancelled within ten minutes?
--
-- Input       orders (order_id, at, event: 'created', 'paid', 'cancelled').
-- Result      one row per order, in order of creation; those paid later are among them.
-- Parameters  10 minutes (PATTERN); a payment at the last second counts.
-- Source      the textbook example of a missing event; the data are generated, with planted answers.
--
--     sparkcep run sql/order_not_paid.sql --input orders=examples/data/orders.csv

SELECT *
FROM match_pattern(
    TABLE(orders) PARTITION BY order_id ORDER BY at,
    pattern => 'PATTERN SEQ(Created c, ~(Settled s) WITHIN 10 minutes)
                RETURN  c.at                                        AS created_at,
                        c.at + INTERVAL 10 MINUTES                  AS due_at',
    types   => map('Created', 'event = ''created''', 'Settled', 'event IN (''paid'', ''cancelled'')')
) AS unpaid
ORDER BY created_at, order_id
