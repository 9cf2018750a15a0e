-- Warned by the sensor: before which failures did the temperature rise in six readings or more without a break,
-- with the last one at most half an hour before?
--
-- Input       machine_events (machine, at, kind: 'reading' or 'failure', temperature in °C).
-- Result      one row per failure with its longest rise, in order of time.
-- Parameters  6 readings, 30 minutes (PATTERN).
-- Source      condition monitoring; the data are generated, with planted answers.
--
--     sparkcep run sql/rise_before_failure.sql --input machine_events=examples/data/machine_events.csv

SELECT *
FROM match_pattern(
    TABLE(machine_events) PARTITION BY machine ORDER BY at,
    pattern => 'PATTERN SEQ(reading{6,} r[], failure f WITHIN 30 minutes)
                WHERE   strict { r[i].temperature > r[i-1].temperature }
                RETURN  r[1].at                                     AS rising_since,
                        f.at                                        AS failed_at,
                        COUNT(r)                                    AS readings,
                        r[1].temperature                            AS from_temperature,
                        r[r.LEN].temperature                        AS to_temperature',
    type_column => 'kind',
    -- A rise of nine holds one of eight, and so on; this keeps the longest.
    matches     => 'non_overlapping'
) AS warnings
ORDER BY failed_at, machine
