-- Document 003's table of agent sessions. The state here is what the listing and the lease say; the whole state is restored from the
-- journal (GET /v1/agents/{id}).
CREATE OR REPLACE VIEW session AS
SELECT s.subject_id AS id, s.created_at AS time,
       jsonb_strip_nulls(jsonb_build_object('name', l.name, 'status', l.status, 'reason', nullif(l.error_message, ''), 'head_seq', h.head_seq,
                                            'state_root', encode(h.state_root, 'hex'), 'blocked_on', e.waiting_reason, 'next_wake', e.next_wake)) AS state,
       nullif(l.labels::jsonb ->> 'note', '') AS note, s.project_id
FROM subjects s JOIN listings l USING (subject_id) JOIN subject_head h USING (subject_id) JOIN leases e USING (subject_id)
WHERE s.kind = 'agent';
GRANT SELECT ON session TO acl_service;
