-- migrate:up
-- Journals: what is written once. These are the lean forms of the documents' tables (text payloads, binary hashes); views/ has the
-- documents' names and shapes over them. Row level security holds invariant 4 against a statement that forgot to compare: the service
-- inserts only under the token of the subject's lease. (Grants raise the token first, so an old holder's insert is refused.)
SET LOCAL ROLE acl_owner;

-- Events (invariants 1 and 2). Create and the commit statement write them, in the order of their sequence numbers; nobody changes one
-- (refuse_event_change). An event's row also holds the completion and the attempt that are written with it, each with a unique key of its
-- own, so a step costs one row (invariant 3). Readers use the view event_rows, because a payload may be packed.
-- Storage: payloads are compressed in their row from 256 bytes on, and hashes stay in it. Hashes moved out of line would be rows and index
-- entries of a TOAST table for every first event. Statistics: ANALYZE looks only at what queries ask by.
CREATE TABLE journal_rows (
  subject_id uuid NOT NULL,
  seq bigint NOT NULL,
  journal_id uuid NOT NULL,
  type text NOT NULL,
  schema_version smallint NOT NULL,
  producer_version text NOT NULL,
  token bigint NOT NULL,
  at timestamptz NOT NULL,
  checksum bytea NOT NULL,
  content_hash bytea,                      -- null: it is the checksum
  chain bytea NOT NULL,
  payload text,                            -- null: it is offloaded, or was removed; the chain covers its hash
  offloaded boolean NOT NULL DEFAULT false, -- the payload is a content, under content_hash
  completed text,                          -- the step that this event completes,
  completed_attempt int,                   -- by which attempt,
  result_checksum bytea,                   -- with which outputs
  begun text,                              -- the step of which an attempt begins with the commit of this event,
  begun_attempt int,                       -- its number,
  begun_at timestamptz,                    -- and since when, if not since `at`
  root bytea,                              -- of the state, as the payload names it: not null if the payload is packed
  PRIMARY KEY (subject_id, seq),
  CONSTRAINT journal_rows_whole CHECK (    -- one CHECK of few parts: PostgreSQL compiles each part at every statement. Nulls pass
    seq >= 1 AND length(type) <= 50 AND length(producer_version) <= 20 AND greatest(length(completed), length(begun)) <= 100
    AND least(length(type), length(completed), completed_attempt, length(begun), begun_attempt) >= 1
    AND length(checksum) = 32 AND length(content_hash) = 32 AND length(chain) = 32 AND length(result_checksum) = 32 AND length(root) = 32
    AND num_nulls(completed, completed_attempt, result_checksum) % 3 = 0 AND num_nulls(begun, begun_attempt) <> 1
    AND (NOT offloaded OR payload IS NULL))
) WITH (toast_tuple_target = 256);
ALTER TABLE journal_rows
  ALTER COLUMN type SET STORAGE MAIN, ALTER COLUMN producer_version SET STORAGE MAIN, ALTER COLUMN checksum SET STORAGE MAIN,
  ALTER COLUMN content_hash SET STORAGE MAIN, ALTER COLUMN chain SET STORAGE MAIN, ALTER COLUMN payload SET STORAGE MAIN,
  ALTER COLUMN completed SET STORAGE MAIN, ALTER COLUMN result_checksum SET STORAGE MAIN, ALTER COLUMN begun SET STORAGE MAIN,
  ALTER COLUMN root SET STORAGE MAIN;
ALTER TABLE journal_rows
  ALTER COLUMN subject_id SET STATISTICS 10, ALTER COLUMN seq SET STATISTICS 10, ALTER COLUMN type SET STATISTICS 10,
  ALTER COLUMN token SET STATISTICS 10, ALTER COLUMN at SET STATISTICS 10, ALTER COLUMN offloaded SET STATISTICS 10,
  ALTER COLUMN completed SET STATISTICS 10, ALTER COLUMN completed_attempt SET STATISTICS 10,
  ALTER COLUMN begun SET STATISTICS 10, ALTER COLUMN begun_attempt SET STATISTICS 10,
  ALTER COLUMN journal_id SET STATISTICS 0, ALTER COLUMN schema_version SET STATISTICS 0, ALTER COLUMN producer_version SET STATISTICS 0,
  ALTER COLUMN checksum SET STATISTICS 0, ALTER COLUMN content_hash SET STATISTICS 0, ALTER COLUMN chain SET STATISTICS 0,
  ALTER COLUMN payload SET STATISTICS 0, ALTER COLUMN result_checksum SET STATISTICS 0, ALTER COLUMN begun_at SET STATISTICS 0,
  ALTER COLUMN root SET STATISTICS 0;
CREATE UNIQUE INDEX journal_rows_completed ON journal_rows (subject_id, completed) WHERE completed IS NOT NULL;
CREATE UNIQUE INDEX journal_rows_begun ON journal_rows (subject_id, begun, begun_attempt) WHERE begun IS NOT NULL;
GRANT SELECT, INSERT ON journal_rows TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON journal_rows FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON journal_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE journal_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON journal_rows FOR SELECT USING (true);
-- One statement may write the lease too (create): then it is not to be seen here yet.
CREATE POLICY written_under_a_lease ON journal_rows FOR INSERT
  WITH CHECK (token = coalesce((SELECT l.token FROM leases l WHERE l.subject_id = journal_rows.subject_id), token));

-- Attempts that no event has room for: a second attempt that begins with the same commit. The commit statement writes them.
CREATE TABLE other_attempts (
  subject_id uuid NOT NULL,
  step_id text NOT NULL CHECK (step_id <> '' AND length(step_id) <= 100),
  attempt_id int NOT NULL CHECK (attempt_id >= 1),
  token bigint NOT NULL,
  started_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, step_id, attempt_id)
);
GRANT SELECT, INSERT ON other_attempts TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON other_attempts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON other_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE other_attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON other_attempts FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON other_attempts FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = other_attempts.subject_id));

-- Completions that no event's row holds: of another time than their event, or of an event that was dropped (drop_segments writes those).
CREATE TABLE other_completions (
  subject_id uuid NOT NULL,
  step_id text NOT NULL CHECK (step_id <> '' AND length(step_id) <= 100),
  attempt_id int NOT NULL CHECK (attempt_id >= 1),
  token bigint NOT NULL,
  event_seq bigint NOT NULL,
  completed_at timestamptz NOT NULL,
  result_checksum bytea NOT NULL CHECK (length(result_checksum) = 32),
  PRIMARY KEY (subject_id, step_id)
);
GRANT SELECT, INSERT ON other_completions TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON other_completions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON other_completions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE other_completions ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON other_completions FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON other_completions FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = other_completions.subject_id));

-- Attempts of events that were dropped. drop_segments alone writes them.
CREATE TABLE past_attempts (
  subject_id uuid NOT NULL,
  step_id text NOT NULL,
  attempt_id int NOT NULL,
  token bigint NOT NULL,
  started_at timestamptz NOT NULL,
  PRIMARY KEY (subject_id, step_id, attempt_id)
);
GRANT SELECT ON past_attempts TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON past_attempts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON past_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A journal of a subject that is not its first (docs/reference/journal-format.md, "Journals of a subject"). The commit that begins it
-- writes it. A subject that never rolls has no row here, and its head says so with a null. open_*: the attempts without a completion when
-- it began, so that a new holder need not read all that the subject ever made.
CREATE TABLE journal_segments (
  subject_id uuid NOT NULL,
  first_seq bigint NOT NULL CHECK (first_seq > 1),
  journal_id uuid NOT NULL,
  token bigint NOT NULL,
  began_at timestamptz NOT NULL,
  open_steps text[] NOT NULL DEFAULT '{}',
  open_attempts int[] NOT NULL DEFAULT '{}',
  open_tokens bigint[] NOT NULL DEFAULT '{}',
  open_since timestamptz[] NOT NULL DEFAULT '{}',
  dropped_at timestamptz,                               -- since when what was before it is gone
  PRIMARY KEY (subject_id, first_seq)
);
CREATE INDEX journal_segments_kept ON journal_segments (began_at) WHERE dropped_at IS NULL;
GRANT SELECT, INSERT ON journal_segments TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON journal_segments FOR EACH ROW EXECUTE FUNCTION refuse_segment_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON journal_segments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE journal_segments ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON journal_segments FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON journal_segments FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = journal_segments.subject_id));

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
