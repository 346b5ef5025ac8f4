-- Document 000's table of attempts.
-- reads: attempt_rows
CREATE OR REPLACE VIEW step_attempts AS
SELECT a.subject_id AS workflow_id, a.step_id::varchar(100) AS step_id, a.attempt_id, a.started_at, a.token AS fencing_token, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id);
GRANT SELECT ON step_attempts TO acl_service;
