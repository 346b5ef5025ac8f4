-- Ends a quarantine. Nothing is appended to a journal that may be damaged, so the journal hears of it by an inbox row: the next holder,
-- who has verified the journal, writes the event. If that holder quarantines again, the row stays for the next release.
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
