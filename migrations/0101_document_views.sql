-- migrate:up
-- Document 002's tables again, as people ask for them: ids as uuid like those of document 000 (so that both join, and a question about one
-- run reads that run alone), and in workflow_steps what the journal says of each attempt: inputs, outputs and error.
SET LOCAL ROLE acl_owner;

DROP VIEW workflow_steps, compensation_log, workflows;

CREATE VIEW workflows AS
SELECT l.subject_id AS id, l.name, l.version, l.owner, l.status, l.definition_text AS spec_yaml, l.created_at, l.updated_at, l.completed_at,
       l.error_message, l.started_at, l.labels, l.project_id
FROM listings l WHERE l.kind = 'workflow';

-- What the journal says of a step's attempts. The inputs are journaled with the first attempt of an idempotent or non-idempotent step (every
-- later one sends the same); pure and read steps have none there. The outputs of a step are the variable of its name.
CREATE VIEW step_inputs AS
SELECT e.subject_id, e.payload::json ->> 'step_id' AS step_id, min(op #>> '{value,call,inputs}') AS inputs
FROM event_rows e, json_array_elements(e.payload::json -> 'state_delta') op
WHERE e.type = 'step.started' AND op #> '{value,call,inputs}' IS NOT NULL
GROUP BY e.subject_id, e.payload::json ->> 'step_id';

CREATE VIEW step_errors AS
SELECT e.subject_id, e.payload::json ->> 'step_id' AS step_id, (e.payload::json ->> 'attempt')::int AS attempt_id,
       max(coalesce(e.payload::json ->> 'error', e.payload::json ->> 'why')) AS error
FROM event_rows e
WHERE e.type IN ('step.attempt_failed', 'step.failed', 'step.attempt_lost', 'step.uncertain', 'step.cancelled', 'compensation.failed')
GROUP BY e.subject_id, e.payload::json ->> 'step_id', (e.payload::json ->> 'attempt')::int;

CREATE FUNCTION step_outputs(p_payload text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(p_payload::json ->> 'outputs',
    (SELECT op ->> 'value' FROM json_array_elements(p_payload::json -> 'state_delta') op
     WHERE op ->> 'path' = '/var:' || replace(replace(coalesce(p_payload::json ->> 'step_name', p_payload::json ->> 'step_id'), '~', '~0'), '/', '~1')
     LIMIT 1))
$$;

-- One line an attempt; its id is derived from the run, the step and the attempt.
CREATE VIEW workflow_steps AS
SELECT hashtextextended(a.subject_id || '/' || a.step_id || '/' || a.attempt_id, 0) & 9223372036854775807 AS id, a.subject_id AS workflow_id,
       a.step_id AS step_name,
       CASE WHEN c.attempt_id = a.attempt_id THEN 'COMPLETED'
            WHEN c.attempt_id IS NOT NULL OR later.attempt_id IS NOT NULL OR le.state = 1 THEN 'FAILED'
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

CREATE VIEW compensation_log AS
SELECT c.compensation_id AS id, c.subject_id AS workflow_id, c.step_id AS step_name, c.capability AS compensation_action, c.inputs_json,
       c.at AS executed_at, c.status = 'executed' AS success, c.error AS error_message, s.project_id
FROM compensation_rows c JOIN subjects s USING (subject_id) WHERE c.status <> 'pending';

GRANT SELECT ON workflows, workflow_steps, compensation_log, step_inputs, step_errors TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
