-- migrate:up
-- Dispatched steps (DESIGN.md section 1): a dispatch is queued with the commit that promises it, taken with a claim, and ended once: by its taker's
-- result, by the loss of its taker, or because it was wanted back before anybody took it. Every end raises the subject's wake-up counter
-- first and then sets the dispatch's state by compare-and-set, so leases are reached before dispatches everywhere.
SET LOCAL ROLE acl_owner;

-- squawk-ignore-file ban-drop-column, adding-field-with-default, constraint-missing-not-valid
ALTER TABLE dispatches DROP COLUMN heartbeat_at,   -- its session's is its own
  ADD COLUMN dispatch_id uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN cancel_requested boolean NOT NULL DEFAULT false,
  ADD COLUMN started_at timestamptz,
  ADD COLUMN ended_at timestamptz,
  ADD CONSTRAINT dispatches_states CHECK ((state = 'started') <= (token IS NOT NULL AND session_id IS NOT NULL) AND (state IN ('queued', 'started')) = (ended_at IS NULL));
CREATE UNIQUE INDEX dispatches_by_id ON dispatches (dispatch_id);
CREATE INDEX dispatches_started ON dispatches (session_id) WHERE state = 'started';                    -- heartbeat, reap, reconciliation
CREATE INDEX dispatches_unwanted ON dispatches (subject_id) WHERE state = 'queued' AND cancel_requested;

-- The result of whoever took it, under the dispatch's own token. Said again after a lost answer it is `replayed`; of a dispatch that ended otherwise it
-- is refused (AC001): its step is somebody else's by now.
CREATE FUNCTION finish_dispatch(p_dispatch uuid, p_token bigint, p_state text, p_payload text) RETURNS TABLE (replayed boolean, holder uuid, queue text)
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

-- Ends what no taker will end: started dispatches of dead sessions (lost), and queued ones that are wanted back (cancelled). Of one subject, or of
-- all. Any process may call it; the reaper does.
CREATE FUNCTION reap_dispatches(p_subject uuid, p_max int) RETURNS TABLE (lost bigint, withdrawn bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_dispatches uuid[];
  v_subjects uuid[];
  v_locked uuid[];
  v_now timestamptz := clock_timestamp();
  v_lost bigint;
  v_withdrawn bigint;
BEGIN
  SELECT array_agg(c.dispatch_id), array_agg(c.subject_id) INTO v_dispatches, v_subjects FROM (
    (SELECT t.dispatch_id, t.subject_id FROM worker_sessions s JOIN dispatches t ON t.session_id = s.session_id AND t.state = 'started'
     WHERE p_subject IS NULL AND s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max)
    UNION ALL
    (SELECT t.dispatch_id, t.subject_id FROM dispatches t WHERE t.state = 'queued' AND t.cancel_requested AND (p_subject IS NULL OR t.subject_id = p_subject) LIMIT p_max)) c;
  IF v_dispatches IS NULL THEN
    RETURN QUERY SELECT 0::bigint, 0::bigint, false;
    RETURN;
  END IF;
  -- hold: reap_chosen
  SELECT coalesce(array_agg(l.subject_id), '{}') INTO v_locked
    FROM (SELECT x.subject_id FROM leases x WHERE x.subject_id = ANY (v_subjects) ORDER BY x.subject_id FOR NO KEY UPDATE SKIP LOCKED) l;
  -- hold: reap_leases_locked
  SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_dispatches
    FROM (SELECT x.dispatch_id FROM dispatches x WHERE x.dispatch_id = ANY (v_dispatches) AND x.subject_id = ANY (v_locked) ORDER BY x.dispatch_id FOR UPDATE SKIP LOCKED) k;
  WITH gone AS (
    UPDATE dispatches t SET state = CASE t.state WHEN 'started' THEN 'lost' ELSE 'cancelled' END, ended_at = v_now, payload = ''
    WHERE t.dispatch_id = ANY (v_dispatches)
      AND (t.state = 'queued' AND t.cancel_requested
           OR t.state = 'started' AND EXISTS (SELECT FROM worker_sessions s WHERE s.session_id = t.session_id AND s.dead_at IS NOT NULL))
    RETURNING t.*),
  woken AS (
    UPDATE leases l SET wake = l.wake + g.n FROM (SELECT subject_id, count(*) AS n FROM gone GROUP BY subject_id) g
    WHERE l.subject_id = g.subject_id AND l.state <> 1 RETURNING l.subject_id, l.session_id, l.state, l.required_version),
  told AS (
    INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
    SELECT w.subject_id, g.dispatch_id, 'dispatch_result',
           CASE g.state WHEN 'lost' THEN json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'lost', 'counted', s.end_kind = 1,
                                                           'worker', s.worker_name, 'token', g.token)::text
                ELSE json_build_object('step_id', g.step_id, 'attempt', g.attempt_id, 'outcome', 'cancelled')::text END, v_now, w.session_id
    FROM woken w JOIN gone g ON g.subject_id = w.subject_id LEFT JOIN worker_sessions s ON s.session_id = g.session_id RETURNING 1),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), v_now, s.subject_id, s.kind, w.required_version
    FROM woken w JOIN subjects s ON s.subject_id = w.subject_id WHERE w.session_id IS NULL AND w.state = 0 ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) FILTER (WHERE g.state = 'lost'), count(*) FILTER (WHERE g.state = 'cancelled') INTO v_lost, v_withdrawn FROM gone g;
  RETURN QUERY SELECT v_lost, v_withdrawn, v_lost + v_withdrawn >= p_max;
END $$;

-- As before (0009); a session is done with when no started dispatch names it either.
CREATE OR REPLACE FUNCTION reap_leases(p_max int) RETURNS TABLE (freed bigint, more boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_subjects uuid[];
  v_tokens bigint[];
  v_ends smallint[];
  v_now timestamptz := clock_timestamp();
  v_freed bigint;
  v_seen bigint;
BEGIN
  SELECT array_agg(c.subject_id) INTO v_subjects
    FROM (SELECT l.subject_id FROM worker_sessions s JOIN leases l ON l.session_id = s.session_id
          WHERE s.dead_at IS NOT NULL AND NOT s.reaped LIMIT p_max) c;
  v_seen := coalesce(cardinality(v_subjects), 0);
  -- hold: reap_chosen
  SELECT array_agg(l.subject_id ORDER BY l.subject_id), mint_tokens(array_agg(l.token ORDER BY l.subject_id)),
         array_agg((CASE s.end_kind WHEN 1 THEN 1 ELSE 2 END)::smallint ORDER BY l.subject_id)
    INTO v_subjects, v_tokens, v_ends
    FROM (SELECT x.subject_id, x.session_id, x.token FROM leases x WHERE x.subject_id = ANY (v_subjects) ORDER BY x.subject_id
          FOR UPDATE SKIP LOCKED) l
    JOIN worker_sessions s ON s.session_id = l.session_id AND s.dead_at IS NOT NULL;
  -- hold: reap_leases_locked
  WITH freed_now AS (
    UPDATE leases l SET token = v_tokens[n], session_id = NULL, last_end = v_ends[n], acquired_at = NULL,
                        not_before = v_now + CASE WHEN b.takeovers_without_progress >= 2 THEN least(2 ^ (b.takeovers_without_progress - 2), 60) * interval '1 second' ELSE interval '0' END
      FROM generate_subscripts(v_subjects, 1) n
      CROSS JOIN LATERAL (
        SELECT coalesce(max(CASE WHEN g.head_seq = h.head_seq AND v_ends[n] = 1 THEN g.takeovers_without_progress + 1 ELSE 0 END), 0) AS takeovers_without_progress
        FROM subject_head h JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = v_subjects[n] ORDER BY x.token DESC LIMIT 1) g ON true
        WHERE h.subject_id = v_subjects[n]) b
      WHERE l.subject_id = v_subjects[n]
      RETURNING l.subject_id, l.state, l.not_before, l.required_version),
  readied AS (
    INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
    SELECT s.queue, s.priority, ready_shard(s.subject_id), f.not_before, s.subject_id, s.kind, f.required_version
    FROM freed_now f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING RETURNING 1)
  SELECT count(*) INTO v_freed FROM freed_now;
  -- No grant can be made to a dead session, so what no lease and no started dispatch names now none will name again.
  UPDATE worker_sessions s SET reaped = true WHERE s.dead_at IS NOT NULL AND NOT s.reaped
    AND NOT EXISTS (SELECT FROM leases l WHERE l.session_id = s.session_id)
    AND NOT EXISTS (SELECT FROM dispatches t WHERE t.session_id = s.session_id AND t.state = 'started');
  RETURN QUERY SELECT v_freed, v_seen = p_max AND v_freed > 0;
END $$;

-- As before (0005), and what this session runs that is wanted back.
DROP FUNCTION heartbeat_session(uuid, bigint);
CREATE FUNCTION heartbeat_session(p_session uuid, p_ttl_ms bigint) RETURNS TABLE (db_now timestamptz, woken uuid, unwanted uuid) LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_now timestamptz;
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR NO KEY UPDATE;
  -- hold: heartbeat_locked
  v_now := clock_timestamp();
  UPDATE worker_sessions s SET heartbeat_at = v_now, expires_at = v_now + p_ttl_ms * interval '1 millisecond'
    WHERE s.session_id = p_session AND s.dead_at IS NULL AND s.expires_at > v_now;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is expired or dead', p_session USING ERRCODE = 'AC001';
  END IF;
  RETURN QUERY SELECT v_now, NULL::uuid, NULL::uuid;
  RETURN QUERY SELECT DISTINCT v_now, i.subject_id, NULL::uuid FROM inbox i WHERE i.session_id = p_session;
  RETURN QUERY SELECT v_now, NULL::uuid, t.dispatch_id FROM dispatches t WHERE t.session_id = p_session AND t.state = 'started' AND t.cancel_requested;
END $$;

-- As before (0101, 0102), with payloads that are offloaded and dispatched steps: their inputs are journaled with step.dispatched, and the dispatch says
-- how far an attempt is.
CREATE OR REPLACE VIEW step_inputs AS
SELECT e.subject_id, e.payload::json ->> 'step_id' AS step_id, min(op #>> '{value,call,inputs}') AS inputs
FROM event_rows e, json_array_elements(e.payload::json -> 'state_delta') op
WHERE e.type IN ('step.started', 'step.dispatched') AND op #> '{value,call,inputs}' IS NOT NULL
GROUP BY e.subject_id, e.payload::json ->> 'step_id';

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

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
