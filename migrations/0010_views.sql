-- migrate:up
-- The documents' tables by their names and columns, over the lean ones (document 000, 11.7; document 002, "Database schema"), with our
-- additions behind. Binary checksums read as hex, payloads as jsonb.
SET LOCAL ROLE acl_owner;

-- An event's id is derived from its subject and sequence number: a UUID of version 8.
CREATE FUNCTION event_uuid(p_subject uuid, p_seq bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid
  FROM substr(sha256(uuid_send(p_subject) || int8send(p_seq)), 1, 16) AS h
$$;

CREATE VIEW events AS
SELECT event_uuid(e.subject_id, e.seq) AS event_id, e.subject_id AS workflow_id, e.seq AS event_seq, e.type::varchar(50) AS event_type,
       e.payload::jsonb AS payload, e.at AS timestamp, e.schema_version::text::varchar(10) AS schema_version,
       e.producer_version::varchar(20) AS producer_version, encode(e.checksum, 'hex')::varchar(64) AS checksum,
       e.token AS fencing_token, e.journal_id, encode(e.chain, 'hex') AS chain, s.project_id
FROM event_rows e JOIN subjects s USING (subject_id);

CREATE VIEW workflow_leases AS
SELECT l.subject_id AS workflow_id, l.session_id::text AS owner_id, l.acquired_at, w.expires_at AS lease_expires_at, l.token AS fencing_token,
       w.heartbeat_at, s.project_id, w.worker_name
FROM leases l JOIN worker_sessions w USING (session_id) JOIN subjects s USING (subject_id)
WHERE l.session_id IS NOT NULL;

CREATE VIEW step_attempts AS
SELECT a.subject_id AS workflow_id, a.step_id::varchar(100) AS step_id, a.attempt_id, a.started_at, a.token AS fencing_token, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id);

CREATE VIEW completed_steps AS
SELECT c.subject_id AS workflow_id, c.step_id::varchar(100) AS step_id, c.attempt_id, c.completed_at, 'event:' || c.event_seq AS result_snapshot_ref,
       encode(c.result_checksum, 'hex')::varchar(64) AS result_checksum, c.token AS fencing_token, s.project_id
FROM completion_rows c JOIN subjects s USING (subject_id);

CREATE VIEW snapshots AS
SELECT x.snapshot_id, x.subject_id AS workflow_id,
       (SELECT count(*)::int FROM completion_rows c WHERE c.subject_id = x.subject_id AND c.event_seq <= x.last_event_seq) AS step_number,
       x.last_event_seq, x.inline_state::jsonb AS state_inline,
       CASE WHEN x.chunks IS NOT NULL THEN 'contents:' || encode(x.chunks, 'hex') END AS state_s3_key,
       encode(x.state_root, 'hex')::varchar(64) AS state_checksum, x.created_at, x.schema_version, s.project_id
FROM snapshot_rows x JOIN subjects s USING (subject_id);

CREATE VIEW workflows AS
SELECT l.subject_id::text AS id, l.name, l.version, l.owner, l.status, l.definition_text AS spec_yaml, l.created_at, l.updated_at, l.completed_at,
       l.error_message, l.started_at, l.labels, l.project_id
FROM listings l WHERE l.kind = 'workflow';

-- One line an attempt. The outputs are read from the completing event: its own `outputs`, else what its delta wrote.
CREATE VIEW workflow_steps AS
SELECT row_number() OVER (ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id) AS id, a.subject_id::text AS workflow_id, a.step_id AS step_name,
       CASE WHEN c.attempt_id = a.attempt_id THEN 'COMPLETED'
            WHEN c.attempt_id IS NOT NULL OR later.attempt_id IS NOT NULL OR le.state = 1 THEN 'FAILED'
            WHEN le.session_id IS NULL THEN 'PAUSED' ELSE 'RUNNING' END AS status,
       t.payload AS inputs_json,
       CASE WHEN c.attempt_id = a.attempt_id THEN
         (SELECT coalesce(e.payload::jsonb -> 'outputs', e.payload::jsonb -> 'state_delta')::text FROM event_rows e
          WHERE e.subject_id = c.subject_id AND e.seq = c.event_seq) END AS outputs_json,
       a.started_at, CASE WHEN c.attempt_id = a.attempt_id THEN c.completed_at END AS completed_at, NULL::text AS error_message, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id) JOIN leases le USING (subject_id)
LEFT JOIN completion_rows c ON c.subject_id = a.subject_id AND c.step_id = a.step_id
LEFT JOIN attempt_rows later ON later.subject_id = a.subject_id AND later.step_id = a.step_id AND later.attempt_id = a.attempt_id + 1
LEFT JOIN dispatches t ON t.subject_id = a.subject_id AND t.step_id = a.step_id AND t.attempt_id = a.attempt_id;

CREATE VIEW compensation_log AS
SELECT c.compensation_id AS id, c.subject_id::text AS workflow_id, c.step_id AS step_name, c.capability AS compensation_action, c.inputs_json,
       c.at AS executed_at, c.status = 'executed' AS success, c.error AS error_message, s.project_id
FROM compensation_rows c JOIN subjects s USING (subject_id) WHERE c.status <> 'pending';

GRANT SELECT ON events, workflow_leases, step_attempts, completed_steps, snapshots, workflows, workflow_steps, compensation_log TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
