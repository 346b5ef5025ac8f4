-- Document 000's table of snapshots. A large state is a list of content hashes.
-- reads: completion_rows
CREATE OR REPLACE VIEW snapshots AS
SELECT x.snapshot_id, x.subject_id AS workflow_id,
       (SELECT count(*)::int FROM completion_rows c WHERE c.subject_id = x.subject_id AND c.event_seq <= x.last_event_seq) AS step_number,
       x.last_event_seq, x.inline_state::jsonb AS state_inline,
       CASE WHEN x.chunks IS NOT NULL THEN 'contents:' || encode(x.chunks, 'hex') END AS state_s3_key,
       encode(x.state_root, 'hex')::varchar(64) AS state_checksum, x.created_at, x.schema_version, s.project_id
FROM snapshot_rows x JOIN subjects s USING (subject_id);
GRANT SELECT ON snapshots TO acl_service;
