-- Document 000's table of leases: those that are held.
CREATE OR REPLACE VIEW workflow_leases AS
SELECT l.subject_id AS workflow_id, l.session_id::text AS owner_id, l.acquired_at, w.expires_at AS lease_expires_at, l.token AS fencing_token,
       w.heartbeat_at, s.project_id, w.worker_name
FROM leases l JOIN worker_sessions w USING (session_id) JOIN subjects s USING (subject_id)
WHERE l.session_id IS NOT NULL;
GRANT SELECT ON workflow_leases TO acl_service;
