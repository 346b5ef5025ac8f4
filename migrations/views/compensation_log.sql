-- Document 002's log of compensations that ran.
CREATE OR REPLACE VIEW compensation_log AS
SELECT c.compensation_id AS id, c.subject_id AS workflow_id, c.step_id AS step_name, c.capability AS compensation_action, c.inputs_json,
       c.at AS executed_at, c.status = 'executed' AS success, c.error AS error_message, s.project_id
FROM compensation_rows c JOIN subjects s USING (subject_id) WHERE c.status <> 'pending';
GRANT SELECT ON compensation_log TO acl_service;
