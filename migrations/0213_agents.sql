-- migrate:up
-- Agent sessions by the names and columns of document 003, section 4: views over the journal, which is append-only by right and by trigger (0004). A move's data is what
-- its event says; how it changed the state stands in the event alone. The state of a session as a whole is restored from its journal (GET /v1/agents/{id}).
SET LOCAL ROLE acl_owner;

CREATE VIEW session AS
SELECT s.subject_id AS id, s.created_at AS time,
       jsonb_strip_nulls(jsonb_build_object('name', l.name, 'status', l.status, 'reason', nullif(l.error_message, ''), 'head_seq', h.head_seq,
                                            'state_root', encode(h.state_root, 'hex'), 'blocked_on', e.waiting_reason, 'next_wake', e.next_wake)) AS state,
       nullif(l.labels::jsonb ->> 'note', '') AS note, s.project_id
FROM subjects s JOIN listings l USING (subject_id) JOIN subject_head h USING (subject_id) JOIN leases e USING (subject_id)
WHERE s.kind = 'agent';

CREATE VIEW move AS
SELECT e.event_id AS id, e.timestamp AS time, substr(e.event_type, 6) AS type, e.workflow_id AS session,
       e.payload - 'state_delta' - 'state_root' AS data, e.event_seq, e.project_id
FROM events e JOIN subjects s ON s.subject_id = e.workflow_id
WHERE s.kind = 'agent' AND starts_with(e.event_type, 'move.');

GRANT SELECT ON session, move TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
