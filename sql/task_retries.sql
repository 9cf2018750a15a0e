-- Retried elsewhere: which tasks of a Spark application failed twice and then succeeded on an executor where they
-- had not failed? Such executors, or the machines below them, deserve a look.
--
-- Input       task_events: the event log of Spark (spark.eventLog.enabled), one JSON object a line, or its lines of
--             SparkListenerTaskEnd.
-- Result      one row per task, in order of time.
-- Parameters  the number of failures (PATTERN).
-- Source      real: the event log of a small run of Spark in which tasks fail on purpose.
--
--     sparkcep run sql/task_retries.sql --input task_events=examples/data/task_events.jsonl

SELECT *
FROM match_pattern(
    TABLE(
        SELECT `Stage ID`                                           AS stage,
               `Stage Attempt ID`                                   AS stage_attempt,
               `Task Info`.`Index`                                  AS task,
               `Task Info`.`Attempt`                                AS attempt,
               `Task Info`.`Executor ID`                            AS executor,
               timestamp_millis(`Task Info`.`Finish Time`)          AS finished_at,
               `Task End Reason`.Reason                             AS reason,
               `Task End Reason`.`Class Name`                       AS class_name
        FROM task_events
        WHERE Event = 'SparkListenerTaskEnd'
    ) PARTITION BY (stage, stage_attempt, task) ORDER BY (finished_at, attempt),
    pattern => 'PATTERN SEQ(Failed a, Failed b, Success c)
                WHERE   strict { c.executor <> a.executor AND c.executor <> b.executor }
                RETURN  a.executor                                  AS first_executor,
                        b.executor                                  AS second_executor,
                        c.executor                                  AS good_executor,
                        b.class_name                                AS last_error',
    types   => map('Failed', 'reason <> ''Success''', 'Success', 'reason = ''Success''')
) AS retried
ORDER BY stage, stage_attempt, task
