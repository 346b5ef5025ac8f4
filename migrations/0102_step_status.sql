-- migrate:up
-- workflow_steps tells the status of an attempt by what the journal says of it, then by the lease: an attempt that failed has FAILED also
-- while its run is open and waits to try again, and one of unknown outcome waits for a person (PAUSED), whoever holds the run.
SET LOCAL ROLE acl_owner;

-- As before, and behind it the type of the last event that says how the attempt ended; `error` is that event's, too.
CREATE OR REPLACE VIEW step_errors AS
SELECT e.subject_id, e.payload::json ->> 'step_id' AS step_id, (e.payload::json ->> 'attempt')::int AS attempt_id,
       (array_agg(coalesce(e.payload::json ->> 'error', e.payload::json ->> 'why') ORDER BY e.seq DESC))[1] AS error,
       (array_agg(e.type ORDER BY e.seq DESC))[1] AS last_type
FROM event_rows e
WHERE e.type IN ('step.attempt_failed', 'step.failed', 'step.attempt_lost', 'step.uncertain', 'step.cancelled', 'compensation.failed',
                 'attempt.not_started')
GROUP BY e.subject_id, e.payload::json ->> 'step_id', (e.payload::json ->> 'attempt')::int;

CREATE OR REPLACE VIEW workflow_steps AS
SELECT hashtextextended(a.subject_id || '/' || a.step_id || '/' || a.attempt_id, 0) & 9223372036854775807 AS id, a.subject_id AS workflow_id,
       a.step_id AS step_name,
       CASE WHEN c.attempt_id = a.attempt_id THEN 'COMPLETED'
            WHEN c.attempt_id IS NOT NULL OR later.attempt_id IS NOT NULL OR le.state = 1 THEN 'FAILED'
            WHEN f.last_type IN ('step.uncertain', 'attempt.not_started') THEN 'PAUSED'
            WHEN f.last_type IS NOT NULL THEN 'FAILED'
            WHEN le.session_id IS NULL THEN 'PAUSED' ELSE 'RUNNING' END AS status,
       coalesce(t.payload, i.inputs) AS inputs_json, CASE WHEN c.attempt_id = a.attempt_id THEN step_outputs(e.payload) END AS outputs_json,
       a.started_at, CASE WHEN c.attempt_id = a.attempt_id THEN c.completed_at END AS completed_at, f.error AS error_message, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id) JOIN leases le USING (subject_id)
LEFT JOIN completion_rows c ON c.subject_id = a.subject_id AND c.step_id = a.step_id
LEFT JOIN event_rows e ON e.subject_id = c.subject_id AND e.seq = c.event_seq
LEFT JOIN attempt_rows later ON later.subject_id = a.subject_id AND later.step_id = a.step_id AND later.attempt_id = a.attempt_id + 1
LEFT JOIN dispatches t ON t.subject_id = a.subject_id AND t.step_id = a.step_id AND t.attempt_id = a.attempt_id
LEFT JOIN step_inputs i ON i.subject_id = a.subject_id AND i.step_id = a.step_id
LEFT JOIN step_errors f ON f.subject_id = a.subject_id AND f.step_id = a.step_id AND f.attempt_id = a.attempt_id;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
