-- migrate:up
-- One row a step (docs/decisions.md, "Speed"). A completion names exactly one event, and the attempt that is promised beside it stands in the same commit: both are
-- columns of that event's row now, with a key each, instead of rows of their own. `attempt_rows` and `completion_rows` are views over both forms; other_attempts
-- and other_completions hold what was written before, what an event has no room for (a second attempt, a completion of another time), and what
-- programs of before write: they insert into the views.
SET LOCAL ROLE acl_owner;

ALTER TABLE event_rows
  ADD COLUMN completed text,               -- the step that this event completes,
  ADD COLUMN completed_attempt int,        -- by which attempt,
  ADD COLUMN result_checksum bytea,        -- with which outputs
  ADD COLUMN begun text,                   -- the step of which an attempt begins with the commit of this event,
  ADD COLUMN begun_attempt int,            -- its number,
  ADD COLUMN begun_at timestamptz,         -- and since when, if not since `at`
  ALTER COLUMN completed SET STORAGE MAIN, ALTER COLUMN result_checksum SET STORAGE MAIN, ALTER COLUMN begun SET STORAGE MAIN;
CREATE UNIQUE INDEX event_rows_completed ON event_rows (subject_id, completed) WHERE completed IS NOT NULL;
CREATE UNIQUE INDEX event_rows_begun ON event_rows (subject_id, begun, begun_attempt) WHERE begun IS NOT NULL;

-- What single constraints held before, in one of few parts: PostgreSQL reads and compiles each part at every statement (a third of the instructions of a
-- commit of one item). Rows from before satisfied the single ones, so they are not looked at again. Nulls pass: greatest and least pass them by.
ALTER TABLE event_rows
  DROP CONSTRAINT event_rows_seq_check, DROP CONSTRAINT event_rows_type_check, DROP CONSTRAINT event_rows_producer_version_check,
  DROP CONSTRAINT event_rows_checksum_check, DROP CONSTRAINT event_rows_content_hash_check, DROP CONSTRAINT event_rows_chain_check,
  DROP CONSTRAINT offloaded_has_no_payload,
  ADD CONSTRAINT event_rows_whole CHECK (
    seq >= 1 AND length(type) <= 50 AND length(producer_version) <= 20 AND greatest(length(completed), length(begun)) <= 100
    AND least(length(type), length(completed), completed_attempt, length(begun), begun_attempt) >= 1
    AND length(checksum) = 32 AND length(content_hash) = 32 AND length(chain) = 32 AND length(result_checksum) = 32
    AND num_nulls(completed, completed_attempt, result_checksum) % 3 = 0 AND num_nulls(begun, begun_attempt) <> 1
    AND (NOT offloaded OR payload IS NULL)) NOT VALID;
ALTER TABLE subject_head
  DROP CONSTRAINT subject_head_head_seq_check, DROP CONSTRAINT subject_head_chain_check, DROP CONSTRAINT subject_head_state_root_check,
  ADD CONSTRAINT subject_head_whole CHECK (head_seq >= 0 AND length(chain) = 32 AND length(state_root) = 32) NOT VALID;
ALTER TABLE leases
  DROP CONSTRAINT leases_token_check, DROP CONSTRAINT leases_state_check, DROP CONSTRAINT leases_last_end_check,
  ADD CONSTRAINT leases_whole CHECK (token > 0 AND token < 9007199254740992 AND state IN (0, 1, 2) AND last_end IN (0, 1, 2)) NOT VALID;

-- Views take the names over in the same transaction: programs of before find them.
-- squawk-ignore renaming-table
ALTER TABLE attempt_rows RENAME TO other_attempts;
-- squawk-ignore renaming-table
ALTER TABLE completion_rows RENAME TO other_completions;

CREATE VIEW attempt_rows AS
SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.started_at FROM other_attempts o
UNION ALL
SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM event_rows e WHERE e.begun IS NOT NULL;

CREATE VIEW completion_rows AS
SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.event_seq, o.completed_at, o.result_checksum FROM other_completions o
UNION ALL
SELECT e.subject_id, e.completed, e.completed_attempt, e.token, e.seq, e.at, e.result_checksum FROM event_rows e WHERE e.completed IS NOT NULL;

GRANT SELECT, INSERT ON attempt_rows, completion_rows TO acl_service;

-- Both keys hold for both forms together, whoever writes.
CREATE FUNCTION insert_other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'attempt_rows' THEN
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.begun = NEW.step_id AND e.begun_attempt = NEW.attempt_id) THEN
      RAISE EXCEPTION 'attempt % of step % of % was made before', NEW.attempt_id, NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_attempts (subject_id, step_id, attempt_id, token, started_at)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.started_at);
  ELSE
    IF EXISTS (SELECT FROM event_rows e WHERE e.subject_id = NEW.subject_id AND e.completed = NEW.step_id) THEN
      RAISE EXCEPTION 'step % of % was completed before', NEW.step_id, NEW.subject_id USING ERRCODE = '23505';
    END IF;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      VALUES (NEW.subject_id, NEW.step_id, NEW.attempt_id, NEW.token, NEW.event_seq, NEW.completed_at, NEW.result_checksum);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER insert_other INSTEAD OF INSERT ON attempt_rows FOR EACH ROW EXECUTE FUNCTION insert_other();
CREATE TRIGGER insert_other INSTEAD OF INSERT ON completion_rows FOR EACH ROW EXECUTE FUNCTION insert_other();
CREATE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON attempt_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON completion_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The documents' tables as before, over both forms.
CREATE OR REPLACE VIEW step_attempts AS
SELECT a.subject_id AS workflow_id, a.step_id::varchar(100) AS step_id, a.attempt_id, a.started_at, a.token AS fencing_token, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id);

CREATE OR REPLACE VIEW completed_steps AS
SELECT c.subject_id AS workflow_id, c.step_id::varchar(100) AS step_id, c.attempt_id, c.completed_at, 'event:' || c.event_seq AS result_snapshot_ref,
       encode(c.result_checksum, 'hex')::varchar(64) AS result_checksum, c.token AS fencing_token, s.project_id
FROM completion_rows c JOIN subjects s USING (subject_id);

CREATE OR REPLACE VIEW snapshots AS
SELECT x.snapshot_id, x.subject_id AS workflow_id,
       (SELECT count(*)::int FROM completion_rows c WHERE c.subject_id = x.subject_id AND c.event_seq <= x.last_event_seq) AS step_number,
       x.last_event_seq, x.inline_state::jsonb AS state_inline,
       CASE WHEN x.chunks IS NOT NULL THEN 'contents:' || encode(x.chunks, 'hex') END AS state_s3_key,
       encode(x.state_root, 'hex')::varchar(64) AS state_checksum, x.created_at, x.schema_version, s.project_id
FROM snapshot_rows x JOIN subjects s USING (subject_id);

CREATE OR REPLACE VIEW workflow_steps AS
SELECT hashtextextended(a.subject_id || '/' || a.step_id || '/' || a.attempt_id, 0) & 9223372036854775807 AS id, a.subject_id AS workflow_id,
       a.step_id AS step_name,
       CASE WHEN c.attempt_id = a.attempt_id THEN 'COMPLETED'
            WHEN c.attempt_id IS NOT NULL OR later.attempt_id IS NOT NULL OR le.state = 1 THEN 'FAILED'
            WHEN f.last_type IN ('step.uncertain', 'attempt.not_started') THEN 'PAUSED'
            WHEN f.last_type IS NOT NULL THEN 'FAILED'
            WHEN t.state = 'queued' THEN 'PENDING' WHEN t.state IS NOT NULL THEN 'RUNNING'
            WHEN le.session_id IS NULL THEN 'PAUSED' ELSE 'RUNNING' END AS status,
       i.inputs AS inputs_json, CASE WHEN c.attempt_id = a.attempt_id THEN step_outputs(payload_text(e.payload, e.offloaded, e.content_hash)) END AS outputs_json,
       a.started_at, CASE WHEN c.attempt_id = a.attempt_id THEN c.completed_at END AS completed_at, f.error AS error_message, s.project_id
FROM attempt_rows a JOIN subjects s USING (subject_id) JOIN leases le USING (subject_id)
LEFT JOIN completion_rows c ON c.subject_id = a.subject_id AND c.step_id = a.step_id
LEFT JOIN event_rows e ON e.subject_id = c.subject_id AND e.seq = c.event_seq
LEFT JOIN attempt_rows later ON later.subject_id = a.subject_id AND later.step_id = a.step_id AND later.attempt_id = a.attempt_id + 1
LEFT JOIN dispatches t ON t.subject_id = a.subject_id AND t.step_id = a.step_id AND t.attempt_id = a.attempt_id
LEFT JOIN step_inputs i ON i.subject_id = a.subject_id AND i.step_id = a.step_id
LEFT JOIN step_errors f ON f.subject_id = a.subject_id AND f.step_id = a.step_id AND f.attempt_id = a.attempt_id;

-- An event of a commit, with the completion and the attempt that stand in its row. `content` is null if it is the checksum; `held`: the attempt that completes
-- is written by the same commit. Sent in binary form by position, so never altered, as the types of 0120.
CREATE TYPE commit_entry AS (
  item int, subject uuid, token bigint, seq bigint, journal uuid, type text, schema int, producer text, at timestamptz, checksum bytea, content bytea,
  chain bytea, payload text, offloaded boolean, completed text, attempt int, held boolean, result bytea, begun text, begun_attempt int, begun_at timestamptz);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
