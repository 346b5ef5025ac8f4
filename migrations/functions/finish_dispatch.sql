-- Ends a dispatched step with the result of the worker that took it, under the step's own token, and tells its subject by an inbox row. A
-- repeat after a lost answer is `replayed`. If the dispatch ended otherwise the result is refused (AC001).
CREATE OR REPLACE FUNCTION finish_dispatch(p_dispatch uuid, p_token bigint, p_state text, p_payload text) RETURNS TABLE (replayed boolean, holder uuid, queue text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_dispatch dispatches;
  v_lease leases;
  v_subject subjects;
BEGIN
  SELECT * INTO v_dispatch FROM dispatches t WHERE t.dispatch_id = p_dispatch;   -- a candidate: no lock before the lease's
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no dispatch %', p_dispatch USING ERRCODE = 'AC003';
  END IF;
  -- hold: dispatch_found
  IF v_dispatch.state = 'started' AND v_dispatch.token = p_token THEN
    UPDATE leases l SET wake = l.wake + 1 WHERE l.subject_id = v_dispatch.subject_id AND l.state <> 1 RETURNING l.* INTO v_lease;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'subject % is closed', v_dispatch.subject_id USING ERRCODE = 'AC002';
    END IF;
    -- hold: dispatch_lease_raised
    UPDATE dispatches t SET state = p_state, ended_at = clock_timestamp(), payload = '' WHERE t.dispatch_id = p_dispatch AND t.state = 'started' AND t.token = p_token;
    IF FOUND THEN
      INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
        VALUES (v_dispatch.subject_id, p_dispatch, 'dispatch_result', p_payload, clock_timestamp(), v_lease.session_id);
      SELECT * INTO STRICT v_subject FROM subjects s WHERE s.subject_id = v_dispatch.subject_id;
      IF v_lease.session_id IS NULL AND v_lease.state = 0 THEN
        INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
          VALUES (v_subject.queue, v_subject.priority, ready_shard(v_subject.subject_id), clock_timestamp(), v_subject.subject_id, v_subject.kind, v_lease.required_version);
      END IF;
      RETURN QUERY SELECT false, v_lease.session_id, v_subject.queue;
      RETURN;
    END IF;
    SELECT * INTO STRICT v_dispatch FROM dispatches t WHERE t.dispatch_id = p_dispatch;   -- ended while we waited for the lease
  END IF;
  IF v_dispatch.state IN ('done', 'failed', 'cancelled') AND v_dispatch.token = p_token THEN
    RETURN QUERY SELECT true, l.session_id, s.queue FROM leases l JOIN subjects s USING (subject_id) WHERE l.subject_id = v_dispatch.subject_id;
    RETURN;
  END IF;
  RAISE EXCEPTION 'dispatch % of step "%" is % (its token is %, not %): its result is refused', p_dispatch, v_dispatch.step_id, v_dispatch.state, v_dispatch.token, p_token
    USING ERRCODE = 'AC001';
END $$;
