-- Back to the shipping form: which visitors filled in shipping details, put something into the cart,
-- looked at the cart and came to the shipping form again, whatever else they did in between?
--
-- Input       shop_events (session_id, user_id, event, occurred_at, platform).
-- Result      one row per round trip, in order of its end.
-- Parameters  the four steps (types are the values of column event); other events may lie between them.
-- Source      a synthetic click stream (retentioneering, Apache-2.0).
--
--     sparkcep run sql/back_to_shipping.sql --input shop_events=examples/data/shop_events.parquet

SELECT *
FROM match_pattern(
    TABLE(shop_events) PARTITION BY session_id ORDER BY (occurred_at, event),
    pattern => 'PATTERN SEQ(shipping_details a, add_to_cart b, cart c, shipping_details d)
                WHERE   skip_till_next_match { d.occurred_at >= a.occurred_at }
                RETURN  a.user_id                                         AS user_id,
                        a.platform                                        AS platform,
                        a.occurred_at                                     AS left_at,
                        d.occurred_at                                     AS back_at,
                        timestampdiff(SECOND, a.occurred_at, d.occurred_at) AS seconds',
    type_column => 'event'
) AS round_trips
ORDER BY back_at, session_id, left_at
