-- Posts an outside input: raises the wake-up counter where the subject is not closed, writes the inbox row, and makes the subject ready if
-- nobody holds it. Idempotent by request key (`replayed`). AC002: the subject is closed, or the key was used for another input; AC003:
-- there is no such subject.
CREATE OR REPLACE FUNCTION post_inbox(p_subject uuid, p_inbox uuid, p_kind text, p_payload text, p_key text, p_hash bytea)
RETURNS TABLE (replayed boolean, holder uuid, queue text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_lease leases;
  v_subject subjects;
  v_hash bytea;
BEGIN
  INSERT INTO request_keys (scope, request_key, request_hash, subject_id) VALUES (p_subject, p_key, p_hash, p_subject) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT r.request_hash INTO STRICT v_hash FROM request_keys r WHERE r.scope = p_subject AND r.request_key = p_key;
    IF v_hash <> p_hash THEN
      RAISE EXCEPTION 'the request key "%" was used for another input of subject %', p_key, p_subject USING ERRCODE = 'AC002';
    END IF;
    RETURN QUERY SELECT true, l.session_id, s.queue FROM leases l JOIN subjects s USING (subject_id) WHERE l.subject_id = p_subject;
    RETURN;
  END IF;
  -- hold: post_keyed
  UPDATE leases l SET wake = l.wake + 1 WHERE l.subject_id = p_subject AND l.state <> 1 RETURNING l.* INTO v_lease;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM leases l WHERE l.subject_id = p_subject) THEN
      RAISE EXCEPTION 'subject % is closed', p_subject USING ERRCODE = 'AC002';
    END IF;
    RAISE EXCEPTION 'there is no subject %', p_subject USING ERRCODE = 'AC003';
  END IF;
  -- hold: post_woken
  INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    VALUES (p_subject, p_inbox, p_kind, p_payload, clock_timestamp(), v_lease.session_id);
  SELECT * INTO STRICT v_subject FROM subjects s WHERE s.subject_id = p_subject;
  IF v_lease.session_id IS NULL AND v_lease.state = 0 THEN
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
      VALUES (v_subject.queue, v_subject.priority, ready_shard(p_subject), clock_timestamp(), p_subject, v_subject.kind, v_lease.required_version);
  END IF;
  RETURN QUERY SELECT false, v_lease.session_id, v_subject.queue;
END $$;
