-- migrate:up
-- Events in fewer bytes (docs/decisions.md, "Speed"; shared/postgres/packed_payload.h). JSON text has no byte below 0x20: in a packed payload each stands for a phrase that
-- nearly every step says, or for what the row's columns say. A content hash that is the checksum is not stored twice. The table has a new name, and `event_rows` is a
-- view of it with payloads and hashes as they were written: whoever reads, checks or restores sees no difference, and programs of before write into the view.
SET LOCAL ROLE acl_owner;

-- squawk-ignore renaming-table
ALTER TABLE event_rows RENAME TO journal_rows;
ALTER TABLE journal_rows ADD COLUMN root bytea;  -- of the state, as the payload names it: not null if the payload is packed
ALTER TABLE journal_rows ALTER COLUMN root SET STORAGE MAIN, ALTER COLUMN root SET STATISTICS 0, ALTER COLUMN content_hash DROP NOT NULL;
ALTER TABLE journal_rows
  DROP CONSTRAINT event_rows_whole,
  ADD CONSTRAINT event_rows_whole CHECK (
    seq >= 1 AND length(type) <= 50 AND length(producer_version) <= 20 AND greatest(length(completed), length(begun)) <= 100
    AND least(length(type), length(completed), completed_attempt, length(begun), begun_attempt) >= 1
    AND length(checksum) = 32 AND length(content_hash) = 32 AND length(chain) = 32 AND length(result_checksum) = 32 AND length(root) = 32
    AND num_nulls(completed, completed_attempt, result_checksum) % 3 = 0 AND num_nulls(begun, begun_attempt) <> 1
    AND (NOT offloaded OR payload IS NULL)) NOT VALID;

-- Rows hang on it: a phrase is never changed.
CREATE FUNCTION unpack_payload(p_payload text, p_root bytea, p_at timestamptz, p_completed text, p_begun text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(p_payload
    , chr(5), '{"also":[{"attempt":1,"step_id":"')
    , chr(6), '","type":"step.started"}],')
    , chr(7), '"attempt":1,"state_delta":[{"op":"add","path":"/step:')
    , chr(8), '","value":{"attempts":1,"completed_at":')
    , chr(9), ',"order":')
    , chr(10), ',"started_at":')
    , chr(11), ',"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":')
    , chr(12), ',"open":["')
    , chr(13), '"]}},{"op":"add","path":"/ready~10~10","value":')
    , chr(14), '},{"op":"add","path":"/var:')
    , chr(15), '","value":')
    , chr(16), '},{"op":"add","path":"/step:')
    , chr(17), '","value":{"attempt":1,"started_at":')
    , chr(18), ',"status":"RUNNING"}}],"state_root":"')
    , chr(19), '","step_id":"')
    , chr(20), '},{"op":"add","path":"/')
    , chr(21), '"state_delta":[{"op":"add","path":"/')
    , chr(22), '],"state_root":"')
    , chr(23), ',"status":"')
    , chr(24), '},{"op":"remove","path":"/')
    , chr(25), '"type":"step.')
    , chr(26), '"}},{"op":"add","path":"/ready~10~10","value":')
    , chr(27), 'run/completed_at')
    , chr(28), '"outputs')
    , chr(29), '"error":"')
    , chr(30), '"attempt":')
    , chr(4), coalesce(p_begun, ''))
    , chr(3), coalesce(p_completed, ''))
    , chr(2), (extract(epoch FROM p_at) * 1000000)::bigint::text)
    , chr(1), encode(p_root, 'hex'))
$$;

CREATE VIEW event_rows AS
SELECT subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, coalesce(content_hash, checksum) AS content_hash, chain,
       CASE WHEN root IS NULL THEN payload ELSE unpack_payload(payload, root, at, completed, begun) END AS payload,
       offloaded, completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at
FROM journal_rows;
ALTER VIEW event_rows ALTER COLUMN offloaded SET DEFAULT false;
GRANT SELECT, INSERT ON event_rows TO acl_service;

CREATE FUNCTION insert_event_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded,
                            completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at)
    VALUES (NEW.subject_id, NEW.seq, NEW.journal_id, NEW.type, NEW.schema_version, NEW.producer_version, NEW.token, NEW.at, NEW.checksum,
            nullif(NEW.content_hash, NEW.checksum), NEW.chain, NEW.payload, NEW.offloaded, NEW.completed, NEW.completed_attempt, NEW.result_checksum,
            NEW.begun, NEW.begun_attempt, NEW.begun_at);
  RETURN NEW;
END $$;
CREATE TRIGGER insert_event_row INSTEAD OF INSERT ON event_rows FOR EACH ROW EXECUTE FUNCTION insert_event_row();
CREATE TRIGGER immutable INSTEAD OF UPDATE OR DELETE ON event_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- As in 0105; the root of a packed payload goes with it.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL AND NOT NEW.offloaded AND NEW.root IS NULL THEN
    OLD.payload := NULL;
    OLD.offloaded := false;
    OLD.root := NULL;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;

-- What was defined over the table: functions that write go on to do so, views that say what a payload says read the view.
DO $$
DECLARE
  v_function oid;
  v_view text;
BEGIN
  FOR v_function IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosrc ~ '(INSERT INTO|UPDATE) event_rows' LOOP
    EXECUTE replace(replace(pg_get_functiondef(v_function), 'INSERT INTO event_rows', 'INSERT INTO journal_rows'),
                    'UPDATE event_rows SET payload = NULL', 'UPDATE journal_rows SET root = NULL, payload = NULL');
  END LOOP;
  FOREACH v_view IN ARRAY ARRAY['events', 'step_inputs', 'step_errors', 'workflow_steps'] LOOP
    EXECUTE format('CREATE OR REPLACE VIEW %I AS %s', v_view, replace(pg_get_viewdef(v_view::regclass), 'journal_rows', 'event_rows'));
  END LOOP;
END $$;

-- As 0125's, and `root`: not null if `payload` is packed.
CREATE TYPE packed_entry AS (
  item int, subject uuid, token bigint, seq bigint, journal uuid, type text, schema int, producer text, at timestamptz, checksum bytea, content bytea,
  chain bytea, payload text, root bytea, offloaded boolean, completed text, attempt int, held boolean, result bytea, begun text, begun_attempt int, begun_at timestamptz);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
