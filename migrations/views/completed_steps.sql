-- Document 000's table of completed steps.
-- reads: completion_rows
CREATE OR REPLACE VIEW completed_steps AS
SELECT c.subject_id AS workflow_id, c.step_id::varchar(100) AS step_id, c.attempt_id, c.completed_at, 'event:' || c.event_seq AS result_snapshot_ref,
       encode(c.result_checksum, 'hex')::varchar(64) AS result_checksum, c.token AS fencing_token, s.project_id
FROM completion_rows c JOIN subjects s USING (subject_id);
GRANT SELECT ON completed_steps TO acl_service;
