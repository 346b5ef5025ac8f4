-- migrate:up
-- A person's release leaves an input that the subject turns into an event; contents an open subject still needs are kept; no table is emptied.
SET LOCAL ROLE acl_owner;

-- Nothing is appended to a journal that may be damaged. So the quarantine is told in the journal when it is over: by an inbox row, which the
-- next holder, who has verified the journal, turns into an event. (If it quarantines again instead, the row stays for the release after.)
CREATE OR REPLACE FUNCTION release_quarantine(p_subject uuid, p_by text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_version int;
  v_reason text;
BEGIN
  UPDATE leases l SET state = 0, last_end = 0, not_before = NULL, wake = l.wake + 1 WHERE l.subject_id = p_subject AND l.state = 2
    RETURNING l.required_version INTO v_version;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'subject % is not in quarantine', p_subject USING ERRCODE = 'AC003';
  END IF;
  UPDATE quarantine q SET released_at = clock_timestamp(), released_by = p_by WHERE q.subject_id = p_subject AND q.released_at IS NULL
    RETURNING q.reason INTO v_reason;
  INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at)
    VALUES (p_subject, gen_random_uuid(), 'quarantine_released', json_build_object('reason', v_reason, 'by', p_by)::text, clock_timestamp());
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, v_version FROM subjects s WHERE s.subject_id = p_subject;
END $$;

-- An open subject is restored from its newest good snapshot and the events after it, at worst from the oldest that is kept: those
-- events need their contents. Snapshots are only added, and the oldest removed, so what was allowed once stays allowed.
CREATE OR REPLACE FUNCTION remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_count bigint;
  v_free bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject AND l.state = 1) THEN
    SELECT coalesce(min(x.last_event_seq), 0) INTO v_free FROM snapshot_rows x WHERE x.subject_id = p_subject;
    IF v_free < p_upto_seq THEN
      RAISE EXCEPTION 'the contents of subject % up to event % are refused: it is open, and needs every event after its oldest kept snapshot (of event %)',
        p_subject, p_upto_seq, v_free USING ERRCODE = 'AC002', HINT = format('remove up to %s, or wait until it is closed', v_free);
    END IF;
  END IF;
  UPDATE event_rows SET payload = NULL WHERE subject_id = p_subject AND seq <= p_upto_seq AND payload IS NOT NULL;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;

CREATE TRIGGER immutable BEFORE UPDATE ON subjects FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: %', TG_OP, TG_TABLE_NAME,
    CASE TG_OP WHEN 'TRUNCATE' THEN 'no table is emptied as a whole' ELSE 'its rows are written once' END USING ERRCODE = '42501';
END $$;

DO $$
DECLARE v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['projects', 'subjects', 'subject_head', 'snapshot_rows', 'listings', 'contents', 'content_chunks', 'fleet_epoch',
                                 'worker_sessions', 'ready', 'timers', 'inbox', 'dispatches', 'outbox', 'request_keys', 'quarantine', 'leader_leases', 'api_keys'] LOOP
    EXECUTE format('CREATE TRIGGER not_truncated BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', v_table);
  END LOOP;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
