-- migrate:up
-- Sticky claims. Who claims by keys says under which token it gave the subject back last, if it still has the state. A lease that has that token yet was
-- held by nobody since: each grant, reap and direct command takes a new one, and nothing but them writes snapshots, events or attempts. So
-- those are not read; inbox and timers are, as ever. The claimer compares what it has with the head row. The rules are else those of 0108 and 0122.
SET LOCAL ROLE acl_owner;

DROP FUNCTION grant_ready(uuid, ready[]);
DROP FUNCTION read_subjects(uuid[]);

-- `p_sticky`: of the subjects, those of which snapshot, events and attempts are not wanted.
CREATE FUNCTION read_subjects(p_subject uuid[], p_sticky uuid[] DEFAULT '{}')
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_restore uuid[] := p_subject;
BEGIN
  RETURN QUERY SELECT 1, l.subject_id, l.token, l.wake, h.head_seq, s.priority::bigint, s.project_id, h.journal_id, s.kind, s.queue, h.chain, h.state_root,
                      NULL::bytea, h.last_timestamp
    FROM unnest(p_subject) WITH ORDINALITY AS p(id, n) CROSS JOIN LATERAL (SELECT * FROM leases x WHERE x.subject_id = p.id LIMIT 1) l
    CROSS JOIN LATERAL (SELECT * FROM subject_head x WHERE x.subject_id = p.id LIMIT 1) h
    CROSS JOIN LATERAL (SELECT * FROM subjects x WHERE x.subject_id = p.id LIMIT 1) s ORDER BY p.n;
  IF cardinality(p_sticky) > 0 THEN
    SELECT coalesce(array_agg(p.id ORDER BY p.n), '{}') INTO v_restore
      FROM unnest(p_subject) WITH ORDINALITY AS p(id, n) WHERE NOT p.id = ANY (p_sticky);
  END IF;
  IF cardinality(v_restore) > 0 THEN
    RETURN QUERY SELECT 2, x.subject_id, x.last_event_seq, x.schema_version::bigint, NULL::bigint, NULL::bigint, x.snapshot_id, NULL::uuid,
                        x.inline_state, NULL::text, x.state_root, x.chain, x.chunks, x.created_at
      FROM unnest(v_restore) AS p(id) CROSS JOIN LATERAL (
        SELECT * FROM snapshot_rows r WHERE r.subject_id = p.id ORDER BY r.last_event_seq DESC LIMIT 1) x;
    RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                        e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.checksum, e.content_hash, e.chain, e.at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
      CROSS JOIN LATERAL (SELECT * FROM event_rows r WHERE r.subject_id = p.id AND r.seq > x.seq OFFSET 0) e ORDER BY e.subject_id, e.seq;
    RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text,
                        NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT * FROM attempt_rows r WHERE r.subject_id = p.id
        AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = r.subject_id AND c.step_id = r.step_id) IS NULL OFFSET 0) a
      ORDER BY a.subject_id, a.started_at, a.step_id, a.attempt_id;
  END IF;
  RETURN QUERY SELECT 5, i.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, i.inbox_id, NULL::uuid, i.kind, i.payload,
                      NULL::bytea, NULL::bytea, NULL::bytea, i.created_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM inbox r WHERE r.subject_id = p.id OFFSET 0) i ORDER BY i.subject_id, i.arrival;
  RETURN QUERY SELECT 6, t.subject_id, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, t.timer_id, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, t.fire_at
    FROM unnest(p_subject) AS p(id) CROSS JOIN LATERAL (SELECT * FROM timers r WHERE r.subject_id = p.id OFFSET 0) t ORDER BY t.subject_id, t.fire_at, t.timer_id;
END $$;

-- As before; part 7 has in n2 whether it is sticky. `k_subject`, `k_released`: subjects and the tokens under which the claimer gave them back.
CREATE FUNCTION grant_ready(p_session uuid, p_ready ready[], k_subject uuid[] DEFAULT '{}', k_released bigint[] DEFAULT '{}')
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_wanted uuid[];            -- subjects among the rows
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_tokens bigint[];
  v_without_progress int[];
  v_heads bigint[];
  v_poison uuid[] := '{}';
  v_before bigint[];          -- tokens of the open before this grant
  v_given uuid[];             -- of the open, granted
  v_sticky uuid[] := '{}';    -- of the granted, those that nobody held since the claimer gave them back
  v_wanted_dispatches uuid[];
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT array_agg(DISTINCT r.subject_id) FILTER (WHERE r.kind <> 'dispatch'), array_agg(r.subject_id) FILTER (WHERE r.kind = 'dispatch')
    INTO v_wanted, v_wanted_dispatches FROM unnest(p_ready) r;
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.session_id IS NULL AND l.state = 0), '{}')
    INTO v_locked, v_open
    FROM (SELECT w.id FROM unnest(v_wanted) AS w(id) ORDER BY w.id) w
    CROSS JOIN LATERAL (SELECT x.subject_id, x.session_id, x.state FROM leases x WHERE x.subject_id = w.id LIMIT 1 FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  -- Takeovers without progress: the head of now against the head at the last grant.
  SELECT array_agg(p.id ORDER BY p.id), array_agg(h.head_seq ORDER BY p.id),
         array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR l.last_end = 0 THEN 0 WHEN l.last_end = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END ORDER BY p.id),
         array_agg(l.token ORDER BY p.id), mint_tokens(array_agg(l.token ORDER BY p.id))
    INTO v_open, v_heads, v_without_progress, v_before, v_tokens
    FROM unnest(v_open) AS p(id) CROSS JOIN LATERAL (SELECT x.token, x.last_end FROM leases x WHERE x.subject_id = p.id LIMIT 1) l
    CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = p.id LIMIT 1) h
    LEFT JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = p.id ORDER BY x.token DESC LIMIT 1) g ON true;
  v_open := coalesce(v_open, '{}');

  IF 5 <= ANY (v_without_progress) THEN
    WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT coalesce(array_agg(c.subject_id), '{}') INTO v_poison FROM closed c;
  END IF;

  SELECT coalesce(array_agg(v_open[n] ORDER BY n), '{}') INTO v_given FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  UPDATE leases l SET token = v_tokens[array_position(v_open, l.subject_id)], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL,
                      waiting_reason = NULL, waiting_since = NULL, next_wake = NULL
    WHERE l.subject_id = ANY (v_given);
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT v_open[n], v_tokens[n], p_session, v_heads[n], v_without_progress[n], v_now FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;

  IF cardinality(k_released) > 0 THEN
    SELECT coalesce(array_agg(v_open[n]), '{}') INTO v_sticky
      FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5 AND v_before[n] = k_released[array_position(k_subject, v_open[n])];
  END IF;

  -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
  -- grows over the attempts of a step.
  IF cardinality(v_wanted_dispatches) > 0 THEN
    SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)) INTO v_dispatches, v_dispatch_tokens
      FROM (SELECT x.dispatch_id, (SELECT coalesce(max(o.token), 0) FROM dispatches o WHERE o.subject_id = x.subject_id AND o.step_id = x.step_id) AS before
            FROM dispatches x WHERE x.dispatch_id = ANY (v_wanted_dispatches) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
    -- hold: claim_dispatches_locked
    WITH taken AS (
      UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now
        FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
    SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
  END IF;

  -- A dispatch that is no more: the scalar subquery has no hashed form, which would read the whole table. The rows are locked by us: their places stay.
  DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
    SELECT x.place FROM unnest(p_ready) d
    CROSS JOIN LATERAL (
      SELECT y.ctid AS place FROM ready y
      WHERE y.queue = d.queue AND y.priority = d.priority AND y.shard = d.shard AND y.ready_at = d.ready_at AND y.subject_id = d.subject_id LIMIT 1) x
    WHERE d.subject_id = ANY (v_locked) OR d.subject_id = ANY (v_dispatches)
          OR d.kind = 'dispatch' AND (SELECT t.dispatch_id FROM dispatches t WHERE t.dispatch_id = d.subject_id) IS NULL));
  -- hold: claim_token_raised

  RETURN QUERY
    SELECT 0, NULL::uuid, (SELECT count(*) FROM unnest(p_ready) d WHERE d.subject_id = ANY (v_locked) AND NOT d.subject_id = ANY (v_open)) + cardinality(v_dispatches) - cardinality(v_taken),
           cardinality(v_poison)::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea, NULL::bytea,
           NULL::bytea, v_now
    UNION ALL
    SELECT 7, v_open[n], v_without_progress[n]::bigint, (v_open[n] = ANY (v_sticky))::int::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
           NULL::bytea, NULL::bytea, NULL::bytea, v_now
      FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  IF cardinality(v_taken) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (v_taken) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(v_open) > cardinality(v_poison) THEN
    RETURN QUERY SELECT * FROM read_subjects(v_given, v_sticky);
  END IF;
END $$;

CREATE FUNCTION claim_keys(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int, k_released bigint[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_ready ready[];
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT coalesce(array_agg(x.row), '{}') INTO v_ready
    FROM (SELECT DISTINCT k.queue, k.priority, k.shard, k.at, k.subject FROM unnest(k_queue, k_priority, k_shard, k_at, k_subject) AS k(queue, priority, shard, at, subject)
          ORDER BY 5, 1, 2, 3, 4) k
    CROSS JOIN LATERAL (
      SELECT r AS row FROM ready r
      WHERE r.queue = k.queue AND r.priority = k.priority AND r.shard = k.shard AND r.ready_at = k.at AND r.subject_id = k.subject
        AND r.ready_at <= clock_timestamp() AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
      FOR UPDATE OF r SKIP LOCKED) x;
  -- Dispatches beyond the room for them stay where they are.
  SELECT coalesce(array_agg(v.row), '{}') INTO v_ready
    FROM (SELECT u AS row, u.kind = 'dispatch' AS dispatch, row_number() OVER (PARTITION BY u.kind = 'dispatch' ORDER BY u.ready_at, u.subject_id) AS n FROM unnest(v_ready) u) v
    WHERE NOT v.dispatch OR v.n <= p_dispatches;
  -- hold: claim_keys_locked
  RETURN QUERY SELECT g.part, g.subject, g.n1, g.n2, CASE g.part WHEN 0 THEN cardinality(k_subject)::bigint - cardinality(v_ready) ELSE g.n3 END, g.n4,
                      g.u1, g.u2, g.t1, g.t2, g.b1, g.b2, g.b3, g.at1
    FROM grant_ready(p_session, v_ready, k_subject, k_released) g;
END $$;

-- For programs of before.
CREATE OR REPLACE FUNCTION claim_keys(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int DEFAULT 0)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT * FROM claim_keys(p_session, k_queue, k_priority, k_shard, k_at, k_subject, p_version, p_kinds, p_dispatches, '{}'::bigint[]);
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
