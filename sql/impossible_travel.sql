-- Impossible travel: who logged in at two places, one after the other, faster than a plane could carry them?
--
-- Input       logins (user, at, city, latitude, longitude in degrees, outcome).
-- Result      one row per journey, the fastest first; distances are great circles on a sphere of 6371 km.
-- Parameters  900 km/h (DEFINE). Failed log-ins are left out.
-- Source      a rule of identity providers; the data are generated, with planted answers.
--
--     sparkcep run sql/impossible_travel.sql --input logins=examples/data/logins.csv

SELECT user, from_city, to_city, left_at, arrived_at,
       CAST(round(km) AS INT)                                       AS km,
       CAST(round(km * 3600 / seconds) AS INT)                      AS km_per_hour
FROM (SELECT * FROM logins WHERE outcome = 'ok')
MATCH_RECOGNIZE (
    PARTITION BY user
    ORDER BY at
    MEASURES
        HERE.city                                                   AS from_city,
        THERE.city                                                  AS to_city,
        HERE.at                                                     AS left_at,
        THERE.at                                                    AS arrived_at,
        timestampdiff(SECOND, HERE.at, THERE.at)                    AS seconds,
        2 * 6371 * asin(sqrt(
            pow(sin(radians(THERE.latitude - HERE.latitude) / 2), 2)
            + cos(radians(HERE.latitude)) * cos(radians(THERE.latitude))
            * pow(sin(radians(THERE.longitude - HERE.longitude) / 2), 2)))  AS km
    ONE ROW PER MATCH
    -- The place of arrival may be the next place of departure.
    AFTER MATCH SKIP TO LAST THERE
    PATTERN (HERE THERE)
    DEFINE THERE AS
        2 * 6371 * asin(sqrt(
            pow(sin(radians(latitude - PREV(latitude)) / 2), 2)
            + cos(radians(PREV(latitude))) * cos(radians(latitude))
            * pow(sin(radians(longitude - PREV(longitude)) / 2), 2)))
        > 900.0 / 3600 * timestampdiff(SECOND, PREV(at), at)
) AS journeys
ORDER BY km_per_hour DESC, user
