-- Document 002's table of steps: one row an attempt; its id is derived from run, step and attempt.
-- reads: attempt_rows, completion_rows, event_rows, step_errors, step_inputs
CREATE OR REPLACE VIEW workflow_steps AS
SELECT hashtextextended(a.subject_id || '/' || a.step_id || '/' || a.attempt_id, 0) & 9223372036854775807 AS id, a.subject_id AS workflow_id,
       a.step_id AS step_name,
       CASE WHEN c.attempt_id = a.attempt_id THEN 'COMPLETED'
            WHEN c.attempt_id IS NOT NULL OR later.attempt_id IS NOT NULL OR le.state = 1 THEN 'FAILED'
            WHEN f.last_type IN ('step.uncertain', 'attempt.not_started') THEN 'PAUSED'
            WHEN f.last_type IS NOT NULL THEN 'FAILED'
            WHEN t.state = 'queued' THEN 'PENDING' WHEN t.state IS NOT NULL THEN 'RUNNING'
            WHEN le.session_id IS NULL THEN 'PAUSED' ELSE 'RUNNING' END AS status,
       i.inputs AS inputs_json, CASE WHEN c.attempt_id = a.attempt_id THEN step_outputs(payload_text(e.payload, e.offloaded, e.content_hash)) END AS outputs_json,
       a.started_at, CASE WHEN c.attempt_id = a.attempt_id THEN c.completed_at END AS completed_at, f.error AS error_message, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id) JOIN leases le USING (subject_id)
LEFT JOIN completion_rows c ON c.subject_id = a.subject_id AND c.step_id = a.step_id
LEFT JOIN event_rows e ON e.subject_id = c.subject_id AND e.seq = c.event_seq
LEFT JOIN attempt_rows later ON later.subject_id = a.subject_id AND later.step_id = a.step_id AND later.attempt_id = a.attempt_id + 1
LEFT JOIN dispatches t ON t.subject_id = a.subject_id AND t.step_id = a.step_id AND t.attempt_id = a.attempt_id
LEFT JOIN step_inputs i ON i.subject_id = a.subject_id AND i.step_id = a.step_id
LEFT JOIN step_errors f ON f.subject_id = a.subject_id AND f.step_id = a.step_id AND f.attempt_id = a.attempt_id;
GRANT SELECT ON workflow_steps TO acl_service;
