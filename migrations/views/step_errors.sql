-- How an attempt ended, if not well: the error and the type of the last event that says so.
-- reads: event_rows
CREATE OR REPLACE VIEW step_errors AS
SELECT e.subject_id, e.payload::json ->> 'step_id' AS step_id, (e.payload::json ->> 'attempt')::int AS attempt_id,
       (array_agg(coalesce(e.payload::json ->> 'error', e.payload::json ->> 'why') ORDER BY e.seq DESC))[1] AS error,
       (array_agg(e.type ORDER BY e.seq DESC))[1] AS last_type
FROM event_rows e
WHERE e.type IN ('step.attempt_failed', 'step.failed', 'step.attempt_lost', 'step.uncertain', 'step.cancelled', 'compensation.failed',
                 'attempt.not_started')
GROUP BY e.subject_id, e.payload::json ->> 'step_id', (e.payload::json ->> 'attempt')::int;
GRANT SELECT ON step_errors TO acl_service;
