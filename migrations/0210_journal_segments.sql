-- migrate:up
-- Journals roll over (docs/journal-format.md, "Journals of a subject"). A journal ends behind a snapshot and the next begins with the same commit; old ones are dropped by
-- age, by a function of the owner. A subject that never rolls has no row here, and its head says so with a null.
SET LOCAL ROLE acl_owner;

ALTER TABLE subject_head ADD COLUMN journal_first bigint;  -- the sequence number that journal_id begins with; null: 1
ALTER TABLE subject_head ALTER COLUMN journal_first SET STATISTICS 0;
ALTER TABLE snapshot_rows ADD COLUMN closing boolean NOT NULL DEFAULT false;  -- it ends a journal: kept for as long as the journal behind it

-- A journal that is not the first. `open_*`: attempts without a completion when it began, so that whoever claims the subject need not read all that were ever made.
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
  dropped_at timestamptz,                        -- what was before it is gone since then
  PRIMARY KEY (subject_id, first_seq)
);
CREATE INDEX journal_segments_kept ON journal_segments (began_at) WHERE dropped_at IS NULL;
GRANT SELECT, INSERT ON journal_segments TO acl_service;
ALTER TABLE journal_segments ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_by_all ON journal_segments FOR SELECT USING (true);
CREATE POLICY written_under_a_lease ON journal_segments FOR INSERT
  WITH CHECK (token = (SELECT l.token FROM leases l WHERE l.subject_id = journal_segments.subject_id));
CREATE FUNCTION refuse_segment_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND OLD.dropped_at IS NULL THEN
    OLD.dropped_at := NEW.dropped_at;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of journal_segments is refused: its rows are written once', TG_OP USING ERRCODE = '42501';
END $$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON journal_segments FOR EACH ROW EXECUTE FUNCTION refuse_segment_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON journal_segments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Chunks of the snapshots that end journals: referred to for as long as those are kept, whatever becomes of the others (content_refs).
CREATE TABLE segment_refs (
  hash bytea NOT NULL REFERENCES contents (hash),
  subject_id uuid NOT NULL,
  first_seq bigint NOT NULL,
  PRIMARY KEY (hash, subject_id, first_seq)
);
CREATE INDEX segment_refs_by_segment ON segment_refs (subject_id, first_seq);
GRANT SELECT, INSERT ON segment_refs TO acl_service;
CREATE TRIGGER immutable BEFORE UPDATE ON segment_refs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON segment_refs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What was attempted in events that were dropped; what they completed is in other_completions.
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

CREATE OR REPLACE VIEW attempt_rows AS
SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.started_at FROM other_attempts o
UNION ALL
SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e WHERE e.begun IS NOT NULL
UNION ALL
SELECT p.subject_id, p.step_id, p.attempt_id, p.token, p.started_at FROM past_attempts p;

-- As in 0126, and of dropped events.
CREATE OR REPLACE FUNCTION attempt_beside(p_subject uuid, p_step text, p_attempt int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(
    (SELECT r.attempt_id FROM other_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL),
    (SELECT r.attempt_id FROM past_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL));
END $$;

-- Attempts without a completion of a subject that has rolled: of its last journal, of before as that journal's row says, and those that stand beside the events
-- (`beside`). The key of events is the only one that serves here: the one of attempts reads all that the subject ever made.
CREATE FUNCTION open_attempts(p_subject uuid) RETURNS TABLE (step_id text, attempt_id int, token bigint, started_at timestamptz, beside boolean) LANGUAGE plpgsql STABLE
SET enable_seqscan = off AS $$
DECLARE v_first bigint := (SELECT h.journal_first FROM subject_head h WHERE h.subject_id = p_subject);
BEGIN
  RETURN QUERY SELECT a.step, a.attempt, a.token, a.since, a.beside FROM (
      SELECT r.begun AS step, r.begun_attempt AS attempt, r.token, coalesce(r.begun_at, r.at) AS since, false AS beside FROM journal_rows r
      WHERE r.subject_id = p_subject AND r.seq >= coalesce(v_first, 1) AND coalesce(r.begun, '') <> ''
      UNION ALL
      SELECT o.step, o.attempt, o.token, o.since, false FROM journal_segments g
        CROSS JOIN LATERAL unnest(g.open_steps, g.open_attempts, g.open_tokens, g.open_since) AS o(step, attempt, token, since)
      WHERE g.subject_id = p_subject AND g.first_seq = v_first
      UNION ALL
      SELECT o.step_id, o.attempt_id, o.token, o.started_at, true FROM other_attempts o WHERE o.subject_id = p_subject) a
    WHERE (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = p_subject AND c.step_id = a.step) IS NULL;
END $$;

-- As in 0161; t4 of the head (part 1) says what its journal begins with, null: 1.
CREATE OR REPLACE FUNCTION read_granted(p_granted granted, p_later boolean DEFAULT false)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text,
               b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_restore uuid[] := p_granted.subject;
  v_rolled uuid[] := '{}';
BEGIN
  part := 0;
  n1 := p_granted.dropped;
  n2 := p_granted.poisoned;
  n3 := p_granted.missing;
  at1 := p_granted.at;
  RETURN NEXT;
  IF cardinality(p_granted.dispatch) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, NULL::bigint, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::text, NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (p_granted.dispatch) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(p_granted.subject) = 0 THEN
    RETURN;
  END IF;
  IF p_later THEN
    RETURN QUERY SELECT 1, g.id, g.token, g.wake, NULL::bigint, NULL::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::text,
                        NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::timestamptz
      FROM unnest(p_granted.subject, p_granted.token, p_granted.wake, p_granted.takeovers_without_progress, p_granted.sticky) AS g(id, token, wake, takeovers_without_progress, sticky);
    RETURN;
  END IF;
  RETURN QUERY SELECT 1, g.id, g.token, g.wake, h.head_seq, s.priority::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, s.project_id, h.journal_id, s.kind, s.queue,
                      CASE WHEN g.takeovers_without_progress > 0 THEN (SELECT x.alone::text FROM lease_history x WHERE x.subject_id = g.id AND x.token = g.token) END, h.journal_first::text,
                      h.chain, h.state_root, NULL::bytea, NULL::bytea, h.last_timestamp
    FROM unnest(p_granted.subject, p_granted.token, p_granted.wake, p_granted.takeovers_without_progress, p_granted.sticky) AS g(id, token, wake, takeovers_without_progress, sticky)
    CROSS JOIN LATERAL (SELECT * FROM subject_head x WHERE x.subject_id = g.id LIMIT 1) h
    CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = g.id LIMIT 1) s;
  IF true = ANY (p_granted.sticky) THEN
    v_restore := ARRAY(SELECT g.id FROM unnest(p_granted.subject, p_granted.sticky) AS g(id, sticky) WHERE NOT g.sticky);
  END IF;
  IF cardinality(v_restore) > 0 THEN
    RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                        x.inline_state, NULL::text, NULL::text, NULL::text, x.state_root, x.chain, x.chunks, NULL::bytea, x.created_at
      FROM unnest(v_restore) AS p(id) CROSS JOIN LATERAL (
        SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
    IF FOUND THEN  -- only behind a snapshot has a journal rolled
      v_rolled := ARRAY(SELECT h.subject_id FROM subject_head h WHERE h.subject_id = ANY (v_restore) AND h.journal_first IS NOT NULL);
    END IF;
    RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, NULL::bigint, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                        e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.completed, e.begun,
                        e.checksum, coalesce(e.content_hash, e.checksum), e.chain, e.root, e.at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
      CROSS JOIN LATERAL (SELECT * FROM journal_rows r WHERE r.subject_id = p.id AND r.seq > x.seq OFFSET 0) e ORDER BY e.subject_id, e.seq;
    IF cardinality(v_rolled) > 0 THEN
      RETURN QUERY SELECT 4, p.id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text, NULL::text,
                          NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
        FROM unnest(v_rolled) AS p(id) CROSS JOIN LATERAL open_attempts(p.id) a ORDER BY p.id, a.started_at, a.step_id, a.attempt_id;
      v_restore := ARRAY(SELECT p.id FROM unnest(v_restore) AS p(id) WHERE NOT p.id = ANY (v_rolled));
    END IF;
    RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text, NULL::text,
                        NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (
        SELECT * FROM (
          SELECT o.subject_id, o.step_id, o.attempt_id, o.token, o.started_at FROM other_attempts o
          UNION ALL
          SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e WHERE e.begun IS NOT NULL) r
        WHERE r.subject_id = p.id
          AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = r.subject_id AND c.step_id = r.step_id) IS NULL OFFSET 0) a
      ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  END IF;
  -- Every input has raised the counter.
  IF 0 < ANY (p_granted.wake) THEN
    RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload, NULL::text, NULL::text,
                        NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
      FROM unnest(p_granted.subject, p_granted.wake) AS p(id, wake) CROSS JOIN LATERAL (SELECT * FROM inbox r WHERE r.subject_id = p.id OFFSET 0) i WHERE p.wake > 0 ORDER BY i.subject_id, i.arrival;
  END IF;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text, NULL::text, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_granted.subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM timers r WHERE r.subject_id = p.id OFFSET 0) t ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;

-- Programs of before remove every snapshot but the last two: those that end journals stay until the owner drops what is before them.
CREATE FUNCTION keep_closing_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN current_user = 'acl_owner' THEN OLD END;
END $$;
CREATE TRIGGER closing_stays BEFORE DELETE ON snapshot_rows FOR EACH ROW WHEN (OLD.closing) EXECUTE FUNCTION keep_closing_snapshot();

-- As in 0111; the two newest are the ones whose chunks it counts: those that end journals have references of their own.
CREATE OR REPLACE FUNCTION release_chunks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE v_released bytea[];
BEGIN
  WITH released AS (
    DELETE FROM content_refs r USING (
      SELECT chunk_hashes(OLD.chunks) AS hash
      EXCEPT SELECT chunk_hashes(s.chunks) FROM (SELECT x.chunks FROM snapshot_rows x WHERE x.subject_id = OLD.subject_id ORDER BY x.last_event_seq DESC LIMIT 2) s) gone
    WHERE r.hash = gone.hash AND r.subject_id = OLD.subject_id AND r.snapshot RETURNING r.hash)
  SELECT coalesce(array_agg(x.hash), '{}') INTO v_released FROM released x;
  WITH mine AS MATERIALIZED (
    SELECT c.hash FROM contents c WHERE c.hash = ANY (v_released) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
  RETURN NULL;
END $$;

-- As in 0105, and what a journal's end refers to.
CREATE OR REPLACE FUNCTION collect_contents(p_grace_ms bigint, p_at timestamptz, p_hash bytea, p_max int)
RETURNS TABLE (examined int, removed int, last_at timestamptz, last_hash bytea) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
  v_free bytea[];
BEGIN
  SELECT count(*)::int, (array_agg(x.used_at ORDER BY x.used_at DESC, x.hash DESC))[1], (array_agg(x.hash ORDER BY x.used_at DESC, x.hash DESC))[1],
         coalesce(array_agg(x.hash) FILTER (WHERE NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = x.hash) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = x.hash)), '{}')
    INTO examined, last_at, last_hash, v_free
    FROM (SELECT c.used_at, c.hash FROM contents c
          WHERE c.used_at IS NOT NULL AND (c.used_at, c.hash) > (p_at, p_hash) AND c.used_at < v_until ORDER BY c.used_at, c.hash LIMIT p_max) x;
  -- hold: collect_seen
  SELECT coalesce(array_agg(l.hash), '{}') INTO v_free
    FROM (SELECT c.hash FROM contents c WHERE c.hash = ANY (v_free) ORDER BY c.hash FOR UPDATE SKIP LOCKED) l;
  -- hold: collect_locked
  WITH gone AS (
    DELETE FROM contents c WHERE c.hash = ANY (v_free) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = c.hash)
      AND c.used_at < v_until AND NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = c.hash)
    RETURNING c.hash, c.object_key),
  chunks AS (DELETE FROM content_chunks k USING gone g WHERE k.hash = g.hash),
  marked AS (
    INSERT INTO object_marks (object_key, hash, condemned) SELECT g.object_key, g.hash, true FROM gone g WHERE g.object_key IS NOT NULL)
  SELECT count(*)::int INTO removed FROM gone;
  RETURN NEXT;
END $$;

-- As in 0105 (and 0148); a snapshot that ends an older journal is not what an open subject is restored from.
CREATE OR REPLACE FUNCTION remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_count bigint;
  v_free bigint;
  v_offloaded bytea[];
BEGIN
  IF NOT EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject AND l.state = 1) THEN
    SELECT coalesce(min(x.last_event_seq), 0) INTO v_free
      FROM (SELECT s.last_event_seq FROM snapshot_rows s WHERE s.subject_id = p_subject ORDER BY s.last_event_seq DESC LIMIT 2) x;
    IF v_free < p_upto_seq THEN
      RAISE EXCEPTION 'the contents of subject % up to event % are refused: it is open, and needs every event after its oldest kept snapshot (of event %)',
        p_subject, p_upto_seq, v_free USING ERRCODE = 'AC002', HINT = format('remove up to %s, or wait until it is closed', v_free);
    END IF;
  END IF;
  SELECT coalesce(array_agg(e.content_hash), '{}') INTO v_offloaded FROM event_rows e WHERE e.subject_id = p_subject AND e.seq <= p_upto_seq AND e.offloaded;
  UPDATE journal_rows SET root = NULL, payload = NULL, offloaded = false WHERE subject_id = p_subject AND seq <= p_upto_seq AND (payload IS NOT NULL OR offloaded);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = p_subject
    AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = p_subject AND e.offloaded AND e.content_hash = r.hash);
  UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;  -- looked at again after the grace
  RETURN v_count;
END $$;

-- As in 0148; and the owner removes the rows of journals that are on record as dropped.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL AND NOT NEW.offloaded AND NEW.root IS NULL THEN
    OLD.payload := NULL;
    OLD.offloaded := false;
    OLD.root := NULL;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'DELETE' AND current_user = 'acl_owner'
      AND EXISTS (SELECT FROM journal_segments g WHERE g.subject_id = OLD.subject_id AND g.first_seq > OLD.seq AND g.dropped_at IS NOT NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;

-- Journals that ended longer ago than `p_keep_ms`, the oldest first: what is before the next one's first event goes, if the snapshot that ends it is there and says
-- its chain. Attempts and completions move to where the commit looks for them. The lease is locked, as for a commit: who commits meanwhile is `busy` and comes again.
CREATE FUNCTION drop_segments(p_keep_ms bigint, p_max int) RETURNS TABLE (segments bigint, events bigint, more boolean) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_keep_ms * interval '1 millisecond';
  v_segment record;
  v_offloaded bytea[];
  v_count bigint;
  v_seen int := 0;
BEGIN
  IF p_keep_ms < 3600000 THEN
    RAISE EXCEPTION 'journals are to be kept for an hour at least after they ended, not % ms', p_keep_ms USING ERRCODE = 'AC006';
  END IF;
  segments := 0;
  events := 0;
  FOR v_segment IN
    SELECT g.subject_id, g.first_seq FROM journal_segments g
    WHERE g.dropped_at IS NULL AND g.began_at < v_until
      AND EXISTS (SELECT FROM snapshot_rows x JOIN journal_rows e ON e.subject_id = x.subject_id AND e.seq = x.last_event_seq AND e.chain = x.chain
                  WHERE x.subject_id = g.subject_id AND x.last_event_seq = g.first_seq - 1 AND x.closing)
      AND (SELECT l.state FROM leases l WHERE l.subject_id = g.subject_id) <> 2
    ORDER BY g.began_at, g.subject_id, g.first_seq LIMIT p_max
  LOOP
    v_seen := v_seen + 1;
    PERFORM FROM leases l WHERE l.subject_id = v_segment.subject_id AND l.state <> 2 FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    -- hold: drop_locked
    UPDATE journal_segments g SET dropped_at = clock_timestamp()
      WHERE g.subject_id = v_segment.subject_id AND g.first_seq = v_segment.first_seq AND g.dropped_at IS NULL;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO past_attempts (subject_id, step_id, attempt_id, token, started_at)
      SELECT e.subject_id, e.begun, e.begun_attempt, e.token, coalesce(e.begun_at, e.at) FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.begun IS NOT NULL;
    INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
      SELECT e.subject_id, e.completed, e.completed_attempt, e.token, e.seq, e.at, e.result_checksum FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.completed IS NOT NULL;
    SELECT coalesce(array_agg(coalesce(e.content_hash, e.checksum)), '{}') INTO v_offloaded FROM journal_rows e
      WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq AND e.offloaded;
    DELETE FROM journal_rows e WHERE e.subject_id = v_segment.subject_id AND e.seq < v_segment.first_seq;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF cardinality(v_offloaded) > 0 THEN  -- as remove_contents
      DELETE FROM content_refs r WHERE r.hash = ANY (v_offloaded) AND r.subject_id = v_segment.subject_id
        AND NOT EXISTS (SELECT FROM event_rows e WHERE e.subject_id = v_segment.subject_id AND e.offloaded AND e.content_hash = r.hash);
      UPDATE contents c SET used_at = clock_timestamp() WHERE c.hash = ANY (v_offloaded) AND c.used_at IS NOT NULL;
    END IF;
    DELETE FROM snapshot_rows x WHERE x.subject_id = v_segment.subject_id AND x.last_event_seq < v_segment.first_seq - 1;
    WITH gone AS (DELETE FROM segment_refs r WHERE r.subject_id = v_segment.subject_id AND r.first_seq < v_segment.first_seq RETURNING r.hash),
    mine AS MATERIALIZED (
      SELECT c.hash FROM contents c WHERE c.hash IN (SELECT g.hash FROM gone g) AND c.used_at IS NOT NULL ORDER BY c.hash FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE contents c SET used_at = clock_timestamp() FROM mine m WHERE c.hash = m.hash;
    segments := segments + 1;
    events := events + v_count;
    EXIT WHEN events >= 20000;  -- no more in one transaction: the leases of all of them are locked meanwhile; one journal goes as a whole
  END LOOP;
  more := segments > 0 AND (v_seen = p_max OR events >= 20000);
  RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION drop_segments(bigint, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_segments(bigint, int) TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
