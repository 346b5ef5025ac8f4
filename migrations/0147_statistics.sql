-- migrate:up
-- What ANALYZE looks at. It read 30,000 rows of the journal with their payloads, sorted hashes and texts that nobody ever asks by, and took half a
-- second of a processor every time the journal had grown by a tenth. Columns that are asked by have 3,000 rows looked at; all others none. (docs/decisions.md, "Speed")
SET LOCAL ROLE acl_owner;

ALTER TABLE event_rows
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN seq SET STATISTICS 10, ALTER COLUMN type SET STATISTICS 10,
  ALTER COLUMN token SET STATISTICS 10, ALTER COLUMN at SET STATISTICS 10, ALTER COLUMN offloaded SET STATISTICS 10,
  ALTER COLUMN completed SET STATISTICS 10, ALTER COLUMN completed_attempt SET STATISTICS 10,
  ALTER COLUMN begun SET STATISTICS 10, ALTER COLUMN begun_attempt SET STATISTICS 10,
  ALTER COLUMN journal_id SET STATISTICS 0, ALTER COLUMN schema_version SET STATISTICS 0, ALTER COLUMN producer_version SET STATISTICS 0,
  ALTER COLUMN checksum SET STATISTICS 0, ALTER COLUMN content_hash SET STATISTICS 0, ALTER COLUMN chain SET STATISTICS 0,
  ALTER COLUMN payload SET STATISTICS 0, ALTER COLUMN result_checksum SET STATISTICS 0, ALTER COLUMN begun_at SET STATISTICS 0;

ALTER TABLE subjects
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN project_id SET STATISTICS 10, ALTER COLUMN kind SET STATISTICS 10,
  ALTER COLUMN queue SET STATISTICS 10, ALTER COLUMN priority SET STATISTICS 10, ALTER COLUMN created_at SET STATISTICS 10,
  ALTER COLUMN traceparent SET STATISTICS 0, ALTER COLUMN definition_text SET STATISTICS 0;

ALTER TABLE subject_head
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN head_seq SET STATISTICS 10, ALTER COLUMN last_timestamp SET STATISTICS 10,
  ALTER COLUMN run_deadline SET STATISTICS 10,
  ALTER COLUMN chain SET STATISTICS 0, ALTER COLUMN state_root SET STATISTICS 0, ALTER COLUMN journal_id SET STATISTICS 0;

ALTER TABLE snapshot_rows
  ALTER COLUMN inline_state SET STATISTICS 0, ALTER COLUMN chunks SET STATISTICS 0, ALTER COLUMN state_root SET STATISTICS 0,
  ALTER COLUMN chain SET STATISTICS 0;

ALTER TABLE listings ALTER COLUMN definition_text SET STATISTICS 0, ALTER COLUMN error_message SET STATISTICS 0;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
