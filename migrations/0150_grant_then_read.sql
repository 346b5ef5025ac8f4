-- migrate:up
-- Claims at less cost (docs/decisions.md, "Speed"). A claim is two functions in one statement: one grants and gives back arrays, the other reads what they name. Rows with
-- payloads are put down once (they went through three functions, each of which put them down), what a statement knows is not looked up again by the next, and payloads
-- are handed out as they are stored (shared/postgres/packed_payload.h). The rules are those of 0108, 0122 and 0123. Programs of before ask through
-- the same functions.
SET LOCAL ROLE acl_owner;

-- By subject: token, wake-up counter, takeovers without progress, and whether nobody held it since the claimer gave it back. `dispatch`: dispatches that it took.
-- Counts of ready rows: `dropped` of held or closed subjects and dispatches that are wanted back, `missing` named and not there; of subjects: `poisoned`.
CREATE TYPE granted AS (at timestamptz, subject uuid[], token bigint[], wake bigint[], takeovers_without_progress int[], sticky boolean[], dispatch uuid[], dropped bigint, poisoned bigint, missing bigint);

-- Places, ids and whether they are dispatches: of ready rows that the caller has locked, whose places therefore stay. `k_subject`, `k_released`: as in 0123.
CREATE FUNCTION grant_rows(p_session uuid, p_place tid[], p_id uuid[], p_dispatch boolean[], p_missing bigint, k_subject uuid[] DEFAULT '{}', k_released bigint[] DEFAULT '{}')
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_before bigint[];          -- tokens of the open before this grant
  v_tokens bigint[];
  v_wakes bigint[];
  v_ends smallint[];
  v_heads bigint[];
  v_without_progress int[];
  v_sticky boolean[];
  v_poisoned bigint := 0;
  v_dropped bigint := 0;
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_taken uuid[] := '{}';     -- of them, granted
  v_now timestamptz := clock_timestamp();
BEGIN
  SELECT coalesce(array_agg(l.subject_id), '{}'), coalesce(array_agg(l.subject_id) FILTER (WHERE l.open), '{}'), array_agg(l.token) FILTER (WHERE l.open),
         array_agg(l.wake) FILTER (WHERE l.open), array_agg(l.last_end) FILTER (WHERE l.open)
    INTO v_locked, v_open, v_before, v_wakes, v_ends
    FROM (SELECT DISTINCT w.id FROM unnest(p_id, p_dispatch) AS w(id, dispatch) WHERE NOT w.dispatch ORDER BY w.id) w
    CROSS JOIN LATERAL (SELECT x.subject_id, x.token, x.wake, x.last_end, x.session_id IS NULL AND x.state = 0 AS open
                        FROM leases x WHERE x.subject_id = w.id LIMIT 1 FOR UPDATE SKIP LOCKED) l;
  -- hold: claim_leases_locked

  IF cardinality(v_open) > 0 THEN
    v_tokens := mint_tokens(v_before);
    -- Takeovers without progress: the head of now against the head at the last grant.
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(h.head_seq),
           array_agg(CASE WHEN g.head_seq IS DISTINCT FROM h.head_seq OR v_ends[n] = 0 THEN 0 WHEN v_ends[n] = 1 THEN g.takeovers_without_progress + 1 ELSE g.takeovers_without_progress END),
           array_agg(coalesce(v_before[n] = k_released[array_position(k_subject, v_open[n])], false))
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_sticky
      FROM generate_subscripts(v_open, 1) n
      CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = v_open[n] LIMIT 1) h
      LEFT JOIN LATERAL (SELECT x.head_seq, x.takeovers_without_progress FROM lease_history x WHERE x.subject_id = v_open[n] ORDER BY x.token DESC LIMIT 1) g ON true;
  END IF;
  IF cardinality(v_locked) > cardinality(v_open) THEN
    SELECT count(*) INTO v_dropped FROM unnest(p_id) AS d(id) WHERE d.id = ANY (v_locked) AND NOT d.id = ANY (v_open);
  END IF;

  IF 5 <= ANY (v_without_progress) THEN
    WITH bad AS (SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 5),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'takeovers_without_progress', format('%s workers in a row died holding it and the journal stayed at event %s: it may be what kills them', takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT count(*) INTO v_poisoned FROM closed;
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(v_heads[n]), array_agg(v_without_progress[n]), array_agg(v_sticky[n])
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_sticky FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] < 5;
  END IF;

  UPDATE leases l SET token = v_tokens[array_position(v_open, l.subject_id)], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL,
                      waiting_reason = NULL, waiting_since = NULL, next_wake = NULL
    WHERE l.subject_id = ANY (v_open);
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
    SELECT g.id, g.token, p_session, g.head, g.takeovers_without_progress, v_now FROM unnest(v_open, v_tokens, v_heads, v_without_progress) AS g(id, token, head, takeovers_without_progress);

  IF cardinality(v_locked) = cardinality(p_id) THEN  -- each a subject's only row, and none skipped
    DELETE FROM ready r WHERE r.ctid = ANY (p_place);
  ELSE
    -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
    -- grows over the attempts of a step.
    IF true = ANY (p_dispatch) THEN
      SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)) INTO v_dispatches, v_dispatch_tokens
        FROM (SELECT x.dispatch_id, (SELECT coalesce(max(o.token), 0) FROM dispatches o WHERE o.subject_id = x.subject_id AND o.step_id = x.step_id) AS before
              FROM dispatches x WHERE x.dispatch_id = ANY (ARRAY(SELECT d.id FROM unnest(p_id, p_dispatch) AS d(id, dispatch) WHERE d.dispatch)) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
      -- hold: claim_dispatches_locked
      WITH taken AS (
        UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now
          FROM generate_subscripts(v_dispatches, 1) n WHERE t.dispatch_id = v_dispatches[n] AND t.state = 'queued' AND NOT t.cancel_requested RETURNING t.dispatch_id)
      SELECT coalesce(array_agg(k.dispatch_id), '{}') INTO v_taken FROM taken k;
    END IF;
    -- A dispatch that is no more: the scalar subquery has no hashed form, which would read the whole table.
    DELETE FROM ready r WHERE r.ctid = ANY (ARRAY(
      SELECT d.place FROM unnest(p_place, p_id, p_dispatch) AS d(place, id, dispatch)
      WHERE d.id = ANY (v_locked) OR d.id = ANY (v_dispatches) OR d.dispatch AND (SELECT t.dispatch_id FROM dispatches t WHERE t.dispatch_id = d.id) IS NULL));
  END IF;
  -- hold: claim_token_raised
  RETURN (v_now, v_open, v_tokens, v_wakes, v_without_progress, v_sticky, v_taken, v_dropped + cardinality(v_dispatches) - cardinality(v_taken), v_poisoned, p_missing)::granted;
END $$;

-- Locks up to `p_max` rows that are ready, priority by priority, of any kind but dispatches beyond the room for them.
CREATE FUNCTION pick_places(p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE SET enable_sort = off AS $$
BEGIN
  WITH lane AS MATERIALIZED (
    SELECT b.priority, q.queue, (f.first + s.shard) % 4 AS shard
    FROM (SELECT floor(random() * 4)::int AS first) f, generate_series(0, 3) AS b(priority), unnest(p_queues) WITH ORDINALITY AS q(queue, n), generate_series(0, 3) AS s(shard)
    ORDER BY b.priority, q.n, s.shard),
  picked AS MATERIALIZED (
    SELECT p.* FROM lane CROSS JOIN LATERAL (
      SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.priority, r.ready_at FROM ready r
      WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = lane.shard AND r.ready_at <= p_until AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
        AND NOT r.subject_id = ANY (p_without)
      ORDER BY r.ready_at, r.subject_id LIMIT p_max FOR UPDATE OF r SKIP LOCKED) p
    LIMIT p_max),
  -- Dispatches beyond the room for them stay where they are.
  counted AS (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.priority, p.ready_at, p.id) AS n FROM picked p)
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM counted k WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;

CREATE FUNCTION grant_waiting(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint, p_dispatches int)
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_min_age_ms * interval '1 millisecond';
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_more record;
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT p.place, p.id, p.dispatch INTO v_place, v_id, v_dispatch FROM pick_places(p_queues, p_max, p_version, p_kinds, v_until, p_dispatches, '{}') p;
  -- Dispatches for which there is no room may have stood before others.
  IF p_dispatches > 0 AND cardinality(v_id) < p_max AND p_dispatches <= cardinality(array_positions(v_dispatch, true)) THEN
    SELECT p.place, p.id, p.dispatch INTO v_more FROM pick_places(p_queues, p_max - cardinality(v_id), p_version, p_kinds, v_until, 0, v_id) p;
    v_place := v_place || v_more.place;
    v_id := v_id || v_more.id;
    v_dispatch := v_dispatch || v_more.dispatch;
  END IF;
  IF cardinality(v_id) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_id), p_max USING ERRCODE = 'AC006';
  END IF;
  -- hold: claim_ready_locked
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, NULL);
END $$;

CREATE FUNCTION grant_named(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int, k_released bigint[])
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_at timestamptz[];
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT coalesce(array_agg(x.place), '{}'), coalesce(array_agg(x.id), '{}'), coalesce(array_agg(x.dispatch), '{}'), array_agg(x.ready_at) INTO v_place, v_id, v_dispatch, v_at
    FROM (SELECT DISTINCT k.queue, k.priority, k.shard, k.at, k.subject FROM unnest(k_queue, k_priority, k_shard, k_at, k_subject) AS k(queue, priority, shard, at, subject)
          ORDER BY 5, 1, 2, 3, 4) k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.ready_at FROM ready r
      WHERE r.queue = k.queue AND r.priority = k.priority AND r.shard = k.shard AND r.ready_at = k.at AND r.subject_id = k.subject
        AND r.ready_at <= clock_timestamp() AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
      FOR UPDATE OF r SKIP LOCKED) x;
  IF true = ANY (v_dispatch) THEN  -- beyond the room for them they stay where they are
    SELECT coalesce(array_agg(u.place), '{}'), coalesce(array_agg(u.id), '{}'), coalesce(array_agg(u.dispatch), '{}') INTO v_place, v_id, v_dispatch
      FROM (SELECT v.*, row_number() OVER (PARTITION BY v.dispatch ORDER BY v.at, v.id) AS n FROM unnest(v_place, v_id, v_dispatch, v_at) AS v(place, id, dispatch, at)) u
      WHERE NOT u.dispatch OR u.n <= p_dispatches;
  END IF;
  -- hold: claim_keys_locked
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, cardinality(k_subject)::bigint - cardinality(v_id), k_subject, k_released);
END $$;

-- Part 0: at1 the database's time, n1 dropped, n2 poisoned, n3 missing. 1, a subject: n1 token, n2 wake, n3 head, n4 priority, n5 takeovers without progress, n6 whether it is
-- sticky, u1 project, u2 journal, t1 kind, t2 queue, b1 chain, b2 state root, at1 its last event's time. 2, a snapshot, 4, an open attempt, 5, an input, 6, a timer: as in 0007. 3, an event,
-- as in 0007, and if it is packed its root in b4, the step that it completes in t3, the step that it begins in t4. 8, a dispatch: as in 0108.
-- `p_later`: of subjects n1, n2, n5 and n6 alone, and nothing else of them; who holds them reads the rest by another call.
-- VOLATILE: a statement behind those that locked, so it sees the last commit of who held them before.
CREATE FUNCTION read_granted(p_granted granted, p_later boolean DEFAULT false)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, u1 uuid, u2 uuid, t1 text, t2 text, t3 text, t4 text,
               b1 bytea, b2 bytea, b3 bytea, b4 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_restore uuid[] := p_granted.subject;
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
  RETURN QUERY SELECT 1, g.id, g.token, g.wake, h.head_seq, s.priority::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, s.project_id, h.journal_id, s.kind, s.queue, NULL::text, NULL::text,
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
    RETURN QUERY SELECT 3, e.subject_id, e.seq, e.schema_version::bigint, e.token, NULL::bigint, NULL::bigint, NULL::bigint, e.journal_id, NULL::uuid, e.type,
                        e.producer_version || E'\n' || CASE WHEN e.offloaded THEN '@' ELSE coalesce('+' || e.payload, '-') END, e.completed, e.begun,
                        e.checksum, coalesce(e.content_hash, e.checksum), e.chain, e.root, e.at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT coalesce(max(r.last_event_seq), 0) AS seq FROM snapshot_rows r WHERE r.subject_id = p.id) x
      CROSS JOIN LATERAL (SELECT * FROM journal_rows r WHERE r.subject_id = p.id AND r.seq > x.seq OFFSET 0) e ORDER BY e.subject_id, e.seq;
    RETURN QUERY SELECT 4, a.subject_id, a.attempt_id::bigint, a.token, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, a.step_id, NULL::text, NULL::text,
                        NULL::text, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, a.started_at
      FROM unnest(v_restore) AS p(id)
      CROSS JOIN LATERAL (SELECT * FROM attempt_rows r WHERE r.subject_id = p.id
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

-- For programs of before: payloads as they were written, and what a grant says of a subject in a row of part 7.
CREATE FUNCTION read_granted_unpacked(p_granted granted)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT r.part, r.subject, r.n1, r.n2, r.n3, r.n4, r.u1, r.u2, r.t1,
                      CASE WHEN r.b4 IS NULL THEN r.t2
                           ELSE split_part(r.t2, E'\n', 1) || E'\n+' || unpack_payload(substr(r.t2, strpos(r.t2, E'\n') + 2), r.b4, r.at1, r.t3, r.t4) END,
                      r.b1, r.b2, r.b3, r.at1
    FROM read_granted(p_granted) r;
  RETURN QUERY SELECT 7, g.id, g.takeovers_without_progress::bigint, g.sticky::int::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::uuid, NULL::text, NULL::text,
                      NULL::bytea, NULL::bytea, NULL::bytea, p_granted.at
    FROM unnest(p_granted.subject, p_granted.takeovers_without_progress, p_granted.sticky) AS g(id, takeovers_without_progress, sticky);
END $$;

CREATE OR REPLACE FUNCTION claim_subjects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint DEFAULT 0, p_dispatches int DEFAULT 0)
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT r.* FROM grant_waiting(p_session, p_queues, p_max, p_version, p_kinds, p_min_age_ms, p_dispatches) g CROSS JOIN LATERAL read_granted_unpacked(g) r;
END $$;

CREATE OR REPLACE FUNCTION claim_keys(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int, k_released bigint[])
RETURNS TABLE (part int, subject uuid, n1 bigint, n2 bigint, n3 bigint, n4 bigint, u1 uuid, u2 uuid, t1 text, t2 text, b1 bytea, b2 bytea,
               b3 bytea, at1 timestamptz) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY SELECT r.* FROM grant_named(p_session, k_queue, k_priority, k_shard, k_at, k_subject, p_version, p_kinds, p_dispatches, k_released) g CROSS JOIN LATERAL read_granted_unpacked(g) r;
END $$;

DROP FUNCTION grant_ready(uuid, ready[], uuid[], bigint[]);
DROP FUNCTION pick_ready(text[], int, int, text[], timestamptz, int, uuid[]);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
