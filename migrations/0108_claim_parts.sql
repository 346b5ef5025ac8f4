-- migrate:up
-- A claim in three parts (DESIGN.md section 2): lock the session, pick ready rows, grant what they name. Rows are picked by queue (driver
-- `postgres`, and a sweep of the other driver for rows that have waited long), or by the keys that messages name (driver `kafka`): whose row
-- is gone is dropped. The relay to Kafka reads what is ready here too.
SET LOCAL ROLE acl_owner;

-- A grant stands beside no marking dead (FOR UPDATE): else the reaper could miss the lease.
CREATE FUNCTION lock_live_session(p_session uuid) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session AND s.dead_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'session % is dead or unknown', p_session USING ERRCODE = 'AC001';
  END IF;
  -- hold: claim_session_locked
END $$;

-- Rows of read_subjects, and first a row of part 0: n1 dropped, n2 quarantined, at1 the database's time. Part 7: n1 the takeovers without progress. Part 8, a
-- dispatch: n1 attempt, n2 priority, n3 token, u1 dispatch, u2 project, t1 step, t2 queue and payload, at1 deadline. The caller has locked the session
-- and the ready rows, in this order.
CREATE FUNCTION grant_ready(p_session uuid, p_ready ready[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_tokens bigint[];
  v_without_progress int[];
  v_heads bigint[];
  v_poison uuid[];
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.session_id IS NULL AND l.state = 0), '{}')
    INTO v_locked, v_open
    FROM (SELECT x.subject_id, x.session_id, x.state FROM leases x
          WHERE x.subject_id = ANY (SELECT DISTINCT r.subject_id FROM unnest(p_ready) r WHERE r.kind <> 'dispatch') ORDER BY x.subject_id FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  -- Takeovers without progress: the head of now against the head at the last grant.
  SELECT array_agg(p.id ORDER BY p.id), array_agg(h.head_seq ORDER BY p.id),
         array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR l.last_end = 0 THEN 0 WHEN l.last_end = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END ORDER BY p.id),
         mint_tokens(array_agg(l.token ORDER BY p.id))
    INTO v_open, v_heads, v_without_progress, v_tokens
    FROM unnest(v_open) AS p(id) JOIN leases l ON l.subject_id = p.id JOIN subject_head h ON h.subject_id = p.id
    LEFT JOIN LATERAL (SELECT * FROM lease_history x WHERE x.subject_id = p.id ORDER BY x.token DESC LIMIT 1) g ON true;

  WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
  closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
  told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
    SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
    RETURNING subject_id)
  SELECT coalesce(array_agg(c.subject_id), '{}') INTO v_poison FROM closed c;

  UPDATE leases l SET token = v_tokens[n], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL, waiting_reason = NULL,
                      waiting_since = NULL, next_wake = NULL
    FROM generate_subscripts(v_open, 1) n WHERE l.subject_id = v_open[n] AND v_without_progress[n] < 5;
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT v_open[n], v_tokens[n], p_session, v_heads[n], v_without_progress[n], v_now FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;

  -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
  -- grows over the attempts of a step.
  IF EXISTS (SELECT FROM unnest(p_ready) r WHERE r.kind = 'dispatch') THEN
    SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)) INTO v_dispatches, v_dispatch_tokens
      FROM (SELECT x.dispatch_id, (SELECT coalesce(max(o.token), 0) FROM dispatches o WHERE o.subject_id = x.subject_id AND o.step_id = x.step_id) AS before
            FROM dispatches x WHERE x.dispatch_id = ANY (SELECT r.subject_id FROM unnest(p_ready) r WHERE r.kind = 'dispatch') ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
    -- hold: claim_dispatches_locked
    WITH taken AS (
      UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now
        FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
    SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
  END IF;

  DELETE FROM ready r USING unnest(p_ready) d
    WHERE r.queue = d.queue AND r.priority = d.priority AND r.shard = d.shard AND r.ready_at = d.ready_at AND r.subject_id = d.subject_id
      AND (d.subject_id = ANY (v_locked) OR d.subject_id = ANY (v_dispatches)
           OR d.kind = 'dispatch' AND NOT EXISTS (SELECT FROM dispatches t WHERE t.dispatch_id = d.subject_id));
  -- hold: claim_token_raised

  v_open := coalesce(v_open, '{}');
  RETURN QUERY SELECT 0, NULL::uuid, (SELECT count(*) FROM unnest(p_ready) d WHERE d.subject_id = ANY (v_locked) AND NOT d.subject_id = ANY (v_open)) + cardinality(v_dispatches) - cardinality(v_taken),
                      cardinality(v_poison)::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text, NULL::bytea, NULL::bytea,
                      NULL::bytea, v_now;
  RETURN QUERY SELECT 7, v_open[n], v_without_progress[n]::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, v_now
    FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  IF cardinality(v_taken) > 0 THEN
    RETURN QUERY SELECT 8, t.subject_id, t.attempt_id::bigint, t.priority::bigint, t.token, NULL::bigint, t.dispatch_id, s.project_id, t.step_id,
                        t.queue || E'\n' || t.payload, NULL::bytea, NULL::bytea, NULL::bytea, t.deadline
      FROM dispatches t JOIN subjects s ON s.subject_id = t.subject_id WHERE t.dispatch_id = ANY (v_taken) ORDER BY t.created_at, t.dispatch_id;
  END IF;
  IF cardinality(v_open) > cardinality(v_poison) THEN
    RETURN QUERY SELECT * FROM read_subjects(ARRAY(SELECT v_open[n] FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5 ORDER BY n));
  END IF;
END $$;

-- What has been ready for at least p_min_age_ms, first priority first; at most p_dispatches rows of dispatches among them, whatever the kinds.
DROP FUNCTION claim_subjects(uuid, text[], int, int, text[]);
CREATE FUNCTION claim_subjects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint DEFAULT 0, p_dispatches int DEFAULT 0)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_ready ready[] := '{}';
  v_some ready[];
  v_dispatches int := p_dispatches;     -- dispatch rows it may still take
  v_priority int;
  v_queue text;
  v_shard int;
  v_first int := floor(random() * 4)::int;
  v_until timestamptz := clock_timestamp() - p_min_age_ms * interval '1 millisecond';
BEGIN
  PERFORM lock_live_session(p_session);
  <<search>>
  FOR v_priority IN 0 .. 3 LOOP
    FOREACH v_queue IN ARRAY p_queues LOOP
      FOR v_shard IN 0 .. 3 LOOP
        WITH picked AS MATERIALIZED (
          SELECT r AS row FROM ready r
          WHERE r.queue = v_queue AND r.priority = v_priority AND r.shard = (v_first + v_shard) % 4 AND r.ready_at <= v_until
            AND r.required_version <= p_version
            AND CASE WHEN r.kind = 'dispatch' THEN v_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
          ORDER BY r.ready_at, r.subject_id LIMIT p_max - cardinality(v_ready) FOR UPDATE OF r SKIP LOCKED),
        -- Dispatches beyond the room for them stay where they are.
        counted AS (SELECT p.row, row_number() OVER (PARTITION BY (p.row).kind = 'dispatch' ORDER BY (p.row).ready_at, (p.row).subject_id) AS n FROM picked p)
        SELECT array_agg(k.row) FILTER (WHERE (k.row).kind <> 'dispatch' OR k.n <= v_dispatches), v_dispatches - least(v_dispatches, count(*) FILTER (WHERE (k.row).kind = 'dispatch'))
          INTO v_some, v_dispatches FROM counted k;
        v_ready := v_ready || coalesce(v_some, '{}');
        IF cardinality(v_ready) > p_max THEN
          RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_ready), p_max USING ERRCODE = 'AC006';
        END IF;
        EXIT search WHEN cardinality(v_ready) >= p_max;
      END LOOP;
    END LOOP;
  END LOOP;
  -- hold: claim_ready_locked
  RETURN QUERY SELECT * FROM grant_ready(p_session, v_ready);
END $$;

-- What messages name, each row at most once. A row that is gone, locked by another claim, not due or not for this program is passed by; of
-- what is passed by, part 0 says in n3 how many rows were not there.
CREATE FUNCTION claim_keys(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int DEFAULT 0)
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
    FROM grant_ready(p_session, v_ready) g;
END $$;

-- Queues and priorities that have rows, by jumping from one to the next in the key: their number counts, not that of the rows.
CREATE FUNCTION ready_lanes() RETURNS TABLE (queue text, priority smallint) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE lane AS (
    (SELECT r.queue, r.priority FROM ready r ORDER BY r.queue, r.priority LIMIT 1)
    UNION ALL
    SELECT n.queue, n.priority FROM lane l
    CROSS JOIN LATERAL (SELECT r.queue, r.priority FROM ready r WHERE (r.queue, r.priority) > (l.queue, l.priority) ORDER BY r.queue, r.priority LIMIT 1) n)
  SELECT lane.queue, lane.priority FROM lane
$$;

-- Due rows of one shard in the order of their keys, at most p_max of each queue and priority, those behind the given place (its low-water mark);
-- with the journal's head and
-- the token as hints, and the trace context; a dispatch's row has that of its subject.
CREATE FUNCTION due_ready(p_shard int, m_queue text[], m_priority int[], m_at timestamptz[], m_subject uuid[], p_max int)
RETURNS TABLE (queue text, priority smallint, ready_at timestamptz, subject_id uuid, kind text, required_version int, head_seq bigint, token bigint, db_now timestamptz, traceparent text)
LANGUAGE sql STABLE AS $$
  SELECT d.queue, d.priority, d.ready_at, d.subject_id, d.kind, d.required_version, coalesce(h.head_seq, 0), coalesce(l.token, 0), now(), s.traceparent
  FROM ready_lanes() lane
  LEFT JOIN unnest(m_queue, m_priority, m_at, m_subject) AS m(queue, priority, at, subject) ON m.queue = lane.queue AND m.priority = lane.priority
  CROSS JOIN LATERAL (
    SELECT r.* FROM ready r
    WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = p_shard
      AND (r.ready_at, r.subject_id) > (coalesce(m.at, '-infinity'), coalesce(m.subject, '00000000-0000-0000-0000-000000000000'::uuid))
      AND r.ready_at <= now()
    ORDER BY r.ready_at, r.subject_id LIMIT p_max) d
  LEFT JOIN subject_head h ON h.subject_id = d.subject_id LEFT JOIN leases l ON l.subject_id = d.subject_id
  LEFT JOIN dispatches t ON d.kind = 'dispatch' AND t.dispatch_id = d.subject_id
  LEFT JOIN subjects s ON s.subject_id = coalesce(t.subject_id, d.subject_id)
$$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
