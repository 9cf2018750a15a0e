-- The checkout loop: which visitors reached the shipping form, went back to put something into the
-- cart again, and met the shipping form once more, all in one session and without a purchase?
--
-- Input       shop_events (session_id, user_id, event, occurred_at, platform). Some events of a
--             session share their second; the name of the event completes the order.
-- Result      one row per session that looped, most rounds first.
-- Parameters  the three steps of a round (DEFINE); other events may lie between them, a purchase may not.
-- Source      a synthetic click stream (retentioneering, Apache-2.0). Its makers say they planted such loops
--             on phones between 9 April and 9 May 2024; the loops found here do not gather there.
--
--     sparkcep run sql/checkout_loop.sql --input shop_events=examples/data/shop_events.parquet

SELECT *
FROM shop_events MATCH_RECOGNIZE (
    PARTITION BY session_id
    ORDER BY occurred_at, event
    MEASURES
        FIRST(user_id)                                              AS user_id,
        FIRST(platform)                                             AS platform,
        SHIPPING.occurred_at                                        AS first_shipping,
        LAST(AGAIN.occurred_at)                                     AS last_shipping,
        COUNT(AGAIN.*)                                              AS rounds,
        COUNT(OTHER.*)                                              AS other_events,
        timestampdiff(SECOND, SHIPPING.occurred_at, LAST(AGAIN.occurred_at)) AS seconds
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (SHIPPING (OTHER*? ADD OTHER*? CART OTHER*? AGAIN)+)
    DEFINE
        SHIPPING AS event = 'shipping_details',
        ADD      AS event = 'add_to_cart',
        CART     AS event = 'cart',
        AGAIN    AS event = 'shipping_details',
        OTHER    AS event <> 'purchase'
) AS loops
ORDER BY rounds DESC, first_shipping, session_id
