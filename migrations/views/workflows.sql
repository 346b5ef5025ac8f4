-- Document 002's table of workflows: the listing of each run, with the text it was submitted with.
CREATE OR REPLACE VIEW workflows AS
SELECT l.subject_id AS id, l.name, l.version, l.owner, l.status, coalesce(s.definition_text, x.text, l.definition_text) AS spec_yaml, l.created_at, l.updated_at, l.completed_at,
       l.error_message, l.started_at, l.labels, l.project_id
FROM listings l JOIN subjects s USING (subject_id) LEFT JOIN definition_texts x ON x.hash = s.definition_hash WHERE l.kind = 'workflow';
GRANT SELECT ON workflows TO acl_service;
