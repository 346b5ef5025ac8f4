-- migrate:up
-- Contents are referred to by subjects, may lie in an object store, and are collected when nobody refers to them (docs/decisions.md,
-- "Object store"). A reference is written by the fenced commit that names the content and lives as long as the subject; its foreign key
-- is what keeps a referenced content from ever being collected.
SET LOCAL ROLE acl_owner;

-- object_key: null = content_chunks hold it. used_at: when it was last put; null = of before this version, never collected.
ALTER TABLE contents ADD COLUMN object_key text, ADD COLUMN used_at timestamptz;
CREATE INDEX contents_by_use ON contents (used_at, hash) WHERE used_at IS NOT NULL;

CREATE TABLE content_refs (
  hash bytea NOT NULL REFERENCES contents (hash),
  subject_id uuid NOT NULL,
  PRIMARY KEY (hash, subject_id)
);

-- Keys of objects that are being written (nobody refers to them yet), or, condemned, that are to be deleted: nothing ever refers to a
-- condemned key, and no key is used twice, so deleting one late harms nobody.
CREATE TABLE object_marks (
  object_key text PRIMARY KEY,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  marked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  condemned boolean NOT NULL DEFAULT false
);

GRANT SELECT, INSERT ON content_refs TO acl_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON object_marks TO acl_service;
GRANT UPDATE (used_at) ON contents TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON content_refs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON content_refs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON object_marks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Of a content only the time of its last use may change.
CREATE FUNCTION refuse_content_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  OLD.used_at := NEW.used_at;
  IF OLD IS NOT DISTINCT FROM NEW THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of contents is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;
DROP TRIGGER immutable ON contents;
CREATE TRIGGER immutable BEFORE UPDATE ON contents FOR EACH ROW EXECUTE FUNCTION refuse_content_change();

-- The object is written: from here on the content is there. False: the mark was condemned meanwhile (the put took longer than the grace),
-- nothing was written. If another put of the same content was faster, its object stays and ours is condemned.
CREATE FUNCTION finish_object(p_key text, p_hash bytea, p_size bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_ours text;
BEGIN
  PERFORM 1 FROM object_marks m WHERE m.object_key = p_key AND NOT m.condemned FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- hold: object_finishing
  INSERT INTO contents AS c (hash, size, object_key, used_at) VALUES (p_hash, p_size, p_key, clock_timestamp())
    ON CONFLICT (hash) DO UPDATE SET used_at = CASE WHEN c.used_at IS NOT NULL THEN clock_timestamp() END
    RETURNING c.object_key INTO v_ours;
  IF v_ours IS NOT DISTINCT FROM p_key THEN
    DELETE FROM object_marks m WHERE m.object_key = p_key;
  ELSE
    UPDATE object_marks m SET condemned = true WHERE m.object_key = p_key;
  END IF;
  RETURN true;
END $$;

-- One page of contents by the time of their last use, from after (p_at, p_hash) on, that nobody has put again for the grace time: those
-- that nobody refers to go. Locked first, tested in a later statement: who refers to one, or puts it again, holds its row (the foreign key's
-- KEY SHARE, the put's NO KEY UPDATE) and is passed by, or comes after and finds it gone.
CREATE FUNCTION collect_contents(p_grace_ms bigint, p_at timestamptz, p_hash bytea, p_max int)
RETURNS TABLE (examined int, removed int, last_at timestamptz, last_hash bytea) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
  v_free bytea[];
BEGIN
  SELECT count(*)::int, (array_agg(x.used_at ORDER BY x.used_at DESC, x.hash DESC))[1], (array_agg(x.hash ORDER BY x.used_at DESC, x.hash DESC))[1],
         coalesce(array_agg(x.hash) FILTER (WHERE NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = x.hash)), '{}')
    INTO examined, last_at, last_hash, v_free
    FROM (SELECT c.used_at, c.hash FROM contents c
          WHERE c.used_at IS NOT NULL AND (c.used_at, c.hash) > (p_at, p_hash) AND c.used_at < v_until ORDER BY c.used_at, c.hash LIMIT p_max) x;
  -- hold: collect_seen
  SELECT coalesce(array_agg(l.hash), '{}') INTO v_free
    FROM (SELECT c.hash FROM contents c WHERE c.hash = ANY (v_free) ORDER BY c.hash FOR UPDATE SKIP LOCKED) l;
  -- hold: collect_locked
  WITH gone AS (
    DELETE FROM contents c WHERE c.hash = ANY (v_free) AND c.used_at < v_until AND NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = c.hash)
    RETURNING c.hash, c.object_key),
  chunks AS (DELETE FROM content_chunks k USING gone g WHERE k.hash = g.hash),
  marked AS (
    INSERT INTO object_marks (object_key, hash, condemned) SELECT g.object_key, g.hash, true FROM gone g WHERE g.object_key IS NOT NULL)
  SELECT count(*)::int INTO removed FROM gone;
  RETURN NEXT;
END $$;

-- Puts that never ended are condemned after the grace time; answers the keys of condemned objects, oldest first.
CREATE FUNCTION condemned_objects(p_grace_ms bigint, p_max int) RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  WITH late AS MATERIALIZED (
    SELECT m.object_key FROM object_marks m
    WHERE NOT m.condemned AND m.marked_at < clock_timestamp() - p_grace_ms * interval '1 millisecond' ORDER BY m.object_key LIMIT p_max FOR UPDATE SKIP LOCKED)
  UPDATE object_marks m SET condemned = true FROM late l WHERE m.object_key = l.object_key;
  RETURN QUERY SELECT m.object_key FROM object_marks m WHERE m.condemned ORDER BY m.marked_at, m.object_key LIMIT p_max;
END $$;

-- Payloads of events that are too large for a row lie in the content store, under the content hash that the chain covers.
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE event_rows ADD COLUMN offloaded boolean NOT NULL DEFAULT false, ADD CONSTRAINT offloaded_has_no_payload CHECK (NOT offloaded OR payload IS NULL);

-- The one change an event may see: the owner removes its content. Everything the chain covers stays.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL AND NOT NEW.offloaded THEN
    OLD.payload := NULL;
    OLD.offloaded := false;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;

-- An offloaded payload is removed by dropping the reference; the collector takes the content after its grace time. (No file or chunk can have the
-- bytes of a payload: a payload holds the root of the state that would hold their hash.)
CREATE OR REPLACE FUNCTION remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_count bigint;
  v_free bigint;
  v_offloaded bytea[];
BEGIN
  IF NOT EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject AND l.state = 1) THEN
    SELECT coalesce(min(x.last_event_seq), 0) INTO v_free FROM snapshot_rows x WHERE x.subject_id = p_subject;
    IF v_free < p_upto_seq THEN
      RAISE EXCEPTION 'the contents of subject % up to event % are refused: it is open, and needs every event after its oldest kept snapshot (of event %)',
        p_subject, p_upto_seq, v_free USING ERRCODE = 'AC002', HINT = format('remove up to %s, or wait until it is closed', v_free);
    END IF;
  END IF;
  SELECT coalesce(array_agg(e.content_hash), '{}') INTO v_offloaded FROM event_rows e WHERE e.subject_id = p_subject AND e.seq <= p_upto_seq AND e.offloaded;
  UPDATE event_rows SET payload = NULL, offloaded = false WHERE subject_id = p_subject AND seq <= p_upto_seq AND (payload IS NOT NULL OR offloaded);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = p_subject
    AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = p_subject AND e.offloaded AND e.content_hash = r.hash);
  UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;  -- looked at again after the grace
  RETURN v_count;
END $$;

-- The text of a payload wherever PostgreSQL holds it; null if it was removed, or lies in an object store.
CREATE FUNCTION payload_text(p_payload text, p_offloaded boolean, p_hash bytea) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN p_offloaded THEN (SELECT convert_from(string_agg(c.bytes, ''::bytea ORDER BY c.number), 'UTF8') FROM content_chunks c WHERE c.hash = p_hash)
              ELSE p_payload END
$$;

CREATE OR REPLACE VIEW events AS
SELECT event_uuid(e.subject_id, e.seq) AS event_id, e.subject_id AS workflow_id, e.seq AS event_seq, e.type::varchar(50) AS event_type,
       payload_text(e.payload, e.offloaded, e.content_hash)::jsonb AS payload, e.at AS timestamp, e.schema_version::text::varchar(10) AS schema_version,
       e.producer_version::varchar(20) AS producer_version, encode(e.checksum, 'hex')::varchar(64) AS checksum,
       e.token AS fencing_token, e.journal_id, encode(e.chain, 'hex') AS chain, s.project_id
FROM event_rows e JOIN subjects s USING (subject_id);

-- As in 0007, but an event whose payload is offloaded says so ('@').
CREATE OR REPLACE FUNCTION read_subjects(p_subject uuid[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT 1, l.subject_id, l.token, l.wake, h.head_seq, s.priority::bigint, s.project_id, h.journal_id, s.kind, s.queue, h.chain, h.state_root,
                      NULL::bytea, h.last_timestamp
    FROM unnest(p_subject) WITH ORDINALITY AS p(id, n) JOIN leases l ON l.subject_id = p.id JOIN subject_head h ON h.subject_id = p.id
    JOIN subjects s ON s.subject_id = p.id ORDER BY p.n;
  RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                      x.inline_state, NULL::text, x.state_root, x.chain, x.chunks, x.created_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (
      SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
  RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                      e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.checksum, e.content_hash, e.chain, e.at
    FROM unnest(p_subject) AS p(id)
    CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
    JOIN event_rows e ON e.subject_id = p.id AND e.seq > x.seq ORDER BY e.subject_id, e.seq;
  RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
    FROM unnest(p_subject) AS p(id) JOIN attempt_rows a ON a.subject_id = p.id
    WHERE NOT EXISTS (SELECT FROM completion_rows c WHERE c.subject_id = a.subject_id AND c.step_id = a.step_id)
    ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload,
                      NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
    FROM unnest(p_subject) AS p(id) JOIN inbox i ON i.subject_id = p.id ORDER BY i.subject_id, i.arrival;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_subject) AS p(id) JOIN timers t ON t.subject_id = p.id ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
