-- The funnel of a shop: how far did visits that looked into the cart get on each platform, where did they drop off,
-- and how often was a payment tried again?
--
-- Input       shop_events (session_id, event, occurred_at, platform). Some events of a session share their second;
--             the name of the event completes the order.
-- Result      one row per platform and step that was the last one reached; percent is of the platform's visits.
-- Parameters  the steps (DEFINE); other events may lie between them. A visit counts once, from its first cart.
-- Source      a synthetic click stream (retentioneering, Apache-2.0).
--
--     sparkcep run sql/shop_funnel.sql --input shop_events=examples/data/shop_events.parquet

SELECT platform,
       reached,
       COUNT(*)                                                     AS visits,
       round(100 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY platform), 1) AS percent,
       SUM(payment_errors)                                          AS payment_errors,
       COUNT_IF(payment_errors > 0)                                 AS visits_with_errors,
       CAST(median(seconds) AS INT)                                 AS median_seconds
FROM shop_events MATCH_RECOGNIZE (
    PARTITION BY session_id
    ORDER BY occurred_at, event
    MEASURES
        FIRST(platform)                                             AS platform,
        CASE
            WHEN COUNT(BOUGHT.*) > 0 THEN '4 purchase'
            WHEN COUNT(PAYING.*) > 0 THEN '3 payment'
            WHEN COUNT(SHIPPING.*) > 0 THEN '2 shipping'
            ELSE '1 cart'
        END                                                         AS reached,
        COUNT(FAILED.*)                                             AS payment_errors,
        timestampdiff(SECOND, FIRST(CART.occurred_at),
            COALESCE(LAST(BOUGHT.occurred_at), LAST(PAYING.occurred_at),
                     LAST(SHIPPING.occurred_at), LAST(CART.occurred_at))) AS seconds
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    -- A step is optional, and what lies before it is as short as can be: so the funnel gets as far as it can.
    -- Without a purchase, payments are followed to the end of the visit, to see all their errors.
    PATTERN (^ OTHER*? CART (OTHER*? SHIPPING (OTHER*? PAYING (FAILED | OTHER)*? (BOUGHT | $))?)?)
    DEFINE
        CART     AS event = 'cart',
        SHIPPING AS event = 'shipping_details',
        PAYING   AS event = 'payment_details',
        FAILED   AS event = 'payment_error',
        BOUGHT   AS event = 'purchase'
) AS visits
GROUP BY platform, reached
ORDER BY platform, reached
