-- migrate:up
-- Suspicion, the grants: a suspect is granted with care (0160; shared/kernel/suspicion.h). Its ready row says that it is one, and is passed by but by whoever may have
-- suspects. The rules are else those of 0150.
SET LOCAL ROLE acl_owner;

DROP FUNCTION grant_rows(uuid, tid[], uuid[], boolean[], bigint, uuid[], bigint[]);

-- Locks the rows of the suspects that this session may have now, the worst first. Asked by every claim: usually one look at an empty index.
CREATE FUNCTION pick_suspects(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE SET enable_sort = off SET enable_seqscan = off AS $$
DECLARE
  v_worst int;
  v_most int;
BEGIN
  place := '{}';
  id := '{}';
  dispatch := '{}';
  SELECT r.deaths INTO v_worst FROM ready r
    WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
      AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
    ORDER BY r.deaths DESC LIMIT 1;
  IF v_worst IS NULL THEN
    RETURN;
  END IF;
  v_most := least(suspects_admitted(p_session, v_worst), p_max);
  IF v_most <= 0 THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.deaths DESC, p.ready_at, p.id) AS n
          FROM (SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.deaths, r.ready_at FROM ready r
                WHERE r.deaths > 0 AND r.queue = ANY (p_queues) AND r.ready_at <= p_until AND r.required_version <= p_version
                  AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
                ORDER BY r.deaths DESC, r.ready_at, r.subject_id LIMIT v_most FOR UPDATE OF r SKIP LOCKED) p) k
    WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;

-- As before (0150). `p_admitted`: suspects that the session may have; the others stay ready.
CREATE FUNCTION grant_rows(p_session uuid, p_place tid[], p_id uuid[], p_dispatch boolean[], p_missing bigint, k_subject uuid[] DEFAULT '{}', k_released bigint[] DEFAULT '{}', p_admitted uuid[] DEFAULT '{}')
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_locked uuid[];            -- leases we have, in ascending order
  v_open uuid[];              -- of them, free and open
  v_before bigint[];          -- tokens of the open before this grant
  v_tokens bigint[];
  v_wakes bigint[];
  v_ends smallint[];
  v_heads bigint[];
  v_without_progress int[];             -- deaths of workers in a row since the last completed step, this one included
  v_alone int[];              -- of them, those for which it alone is to blame
  v_refused uuid[];           -- suspects for which there is no room
  v_sticky boolean[];
  v_poisoned bigint := 0;
  v_dropped bigint := 0;
  v_dispatches uuid[] := '{}';     -- dispatch rows we have
  v_dispatch_tokens bigint[];
  v_dispatch_deaths int[];        -- dispatches of their steps that were lost before
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
    -- Deaths of workers in a row. What its last holder gave up by its own will is acquitted, and so is what completed a step since the last grant.
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(h.head_seq),
           array_agg(CASE WHEN v_ends[n] = 0 OR g.head_seq IS NULL THEN 0
                          ELSE CASE WHEN g.takeovers_without_progress > 0 AND g.head_seq <> h.head_seq AND completed_since(v_open[n], g.head_seq) THEN 0 ELSE g.takeovers_without_progress END
                               + (v_ends[n] <> 2)::int END),
           array_agg(CASE WHEN v_ends[n] = 0 OR g.head_seq IS NULL OR g.alone = 0 AND v_ends[n] <> 3 THEN 0
                          ELSE CASE WHEN g.head_seq <> h.head_seq AND completed_since(v_open[n], g.head_seq) THEN 0 ELSE g.alone END
                               + (v_ends[n] = 3)::int END),
           array_agg(coalesce(v_before[n] = k_released[array_position(k_subject, v_open[n])], false))
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky
      FROM generate_subscripts(v_open, 1) n
      CROSS JOIN LATERAL (SELECT x.head_seq FROM subject_head x WHERE x.subject_id = v_open[n] LIMIT 1) h
      LEFT JOIN LATERAL (SELECT x.head_seq, x.takeovers_without_progress, x.alone FROM lease_history x WHERE x.subject_id = v_open[n] ORDER BY x.token DESC LIMIT 1) g ON true;
  END IF;
  IF cardinality(v_locked) > cardinality(v_open) THEN
    SELECT count(*) INTO v_dropped FROM unnest(p_id) AS d(id) WHERE d.id = ANY (v_locked) AND NOT d.id = ANY (v_open);
  END IF;

  -- What killed five workers alone, and had no step that its holder could have failed; or six, whatever it had.
  IF 5 <= ANY (v_alone) THEN
    WITH bad AS (
      SELECT v_open[n] AS id, v_without_progress[n] AS takeovers_without_progress, v_alone[n] AS alone, v_heads[n] AS head FROM generate_subscripts(v_open, 1) n
      WHERE v_alone[n] >= 6 OR v_alone[n] = 5 AND (
        SELECT a.step_id FROM attempt_rows a WHERE a.subject_id = v_open[n]
          AND (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = a.subject_id AND c.step_id = a.step_id) IS NULL LIMIT 1) IS NULL),
    closed AS (UPDATE leases l SET state = 2, waiting_reason = NULL, waiting_since = NULL, next_wake = NULL FROM bad WHERE l.subject_id = bad.id RETURNING l.subject_id),
    told AS (INSERT INTO quarantine (subject_id, reason, detail, at)
      SELECT id, 'kills_its_worker', format('%s workers died while it was the only suspect on them, %s in all; no step completed between, the journal stands at event %s',
                                            alone, takeovers_without_progress, head), v_now FROM bad
      RETURNING subject_id)
    SELECT count(*), array_agg(c.subject_id) INTO v_poisoned, v_refused FROM closed c;
    SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(v_heads[n]), array_agg(v_without_progress[n]), array_agg(v_alone[n]), array_agg(v_sticky[n])
      INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky FROM generate_subscripts(v_open, 1) n WHERE v_open[n] <> ALL (coalesce(v_refused, '{}'));
  END IF;
  -- A suspect that was not admitted stays ready, and is granted with care from now on.
  IF 2 <= ANY (v_without_progress) THEN
    v_refused := ARRAY(SELECT v_open[n] FROM generate_subscripts(v_open, 1) n WHERE v_without_progress[n] >= 2 AND v_open[n] <> ALL (p_admitted));
    IF cardinality(v_refused) > 0 THEN
      UPDATE ready r SET deaths = v_without_progress[array_position(v_open, r.subject_id)] WHERE r.ctid = ANY (p_place) AND r.subject_id = ANY (v_refused);
      SELECT coalesce(array_agg(v_open[n]), '{}'), array_agg(v_tokens[n]), array_agg(v_wakes[n]), array_agg(v_heads[n]), array_agg(v_without_progress[n]), array_agg(v_alone[n]), array_agg(v_sticky[n])
        INTO v_open, v_tokens, v_wakes, v_heads, v_without_progress, v_alone, v_sticky FROM generate_subscripts(v_open, 1) n WHERE v_open[n] <> ALL (v_refused);
      SELECT coalesce(array_agg(d.place), '{}'), coalesce(array_agg(d.id), '{}'), coalesce(array_agg(d.dispatch), '{}') INTO p_place, p_id, p_dispatch
        FROM unnest(p_place, p_id, p_dispatch) AS d(place, id, dispatch) WHERE d.id <> ALL (v_refused);
      v_locked := ARRAY(SELECT l.id FROM unnest(v_locked) AS l(id) WHERE l.id <> ALL (v_refused));
    END IF;
  END IF;

  UPDATE leases l SET token = v_tokens[array_position(v_open, l.subject_id)], session_id = p_session, acquired_at = v_now, last_end = 0, not_before = NULL,
                      waiting_reason = NULL, waiting_since = NULL, next_wake = NULL, deaths = v_without_progress[array_position(v_open, l.subject_id)]
    WHERE l.subject_id = ANY (v_open);
  INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, alone, granted_at)
    SELECT g.id, g.token, p_session, g.head, g.takeovers_without_progress, g.alone, v_now FROM unnest(v_open, v_tokens, v_heads, v_without_progress, v_alone) AS g(id, token, head, takeovers_without_progress, alone);

  IF cardinality(v_locked) = cardinality(p_id) THEN  -- each a subject's only row, and none skipped
    DELETE FROM ready r WHERE r.ctid = ANY (p_place);
  ELSE
    -- Dispatches behind the leases, in the order of locks. Their ends have the lease and wait for the dispatch, so nothing here waits for one. The token
    -- grows over the attempts of a step.
    IF true = ANY (p_dispatch) THEN
      SELECT coalesce(array_agg(t.dispatch_id ORDER BY t.dispatch_id), '{}'), mint_tokens(array_agg(t.before ORDER BY t.dispatch_id)), array_agg(t.lost ORDER BY t.dispatch_id),
             coalesce(array_agg(t.dispatch_id) FILTER (WHERE t.lost >= 2 AND t.waits AND t.dispatch_id <> ALL (p_admitted)), '{}')
        INTO v_dispatches, v_dispatch_tokens, v_dispatch_deaths, v_refused
        FROM (SELECT x.dispatch_id, x.state = 'queued' AND NOT x.cancel_requested AS waits, o.before, o.lost
              FROM dispatches x CROSS JOIN LATERAL (SELECT coalesce(max(y.token), 0) AS before, count(*) FILTER (WHERE y.state = 'lost')::int AS lost FROM dispatches y
                                               WHERE y.subject_id = x.subject_id AND y.step_id = x.step_id) o
              WHERE x.dispatch_id = ANY (ARRAY(SELECT d.id FROM unnest(p_id, p_dispatch) AS d(id, dispatch) WHERE d.dispatch)) ORDER BY x.dispatch_id FOR UPDATE OF x SKIP LOCKED) t;
      -- hold: claim_dispatches_locked
      IF cardinality(v_refused) > 0 THEN
        UPDATE ready r SET deaths = v_dispatch_deaths[array_position(v_dispatches, r.subject_id)] WHERE r.ctid = ANY (p_place) AND r.subject_id = ANY (v_refused);
        SELECT coalesce(array_agg(v_dispatches[n]), '{}'), array_agg(v_dispatch_tokens[n]), array_agg(v_dispatch_deaths[n]) INTO v_dispatches, v_dispatch_tokens, v_dispatch_deaths
          FROM generate_subscripts(v_dispatches, 1) n WHERE v_dispatches[n] <> ALL (v_refused);
      END IF;
      WITH taken AS (
        UPDATE dispatches t SET state = 'started', token = v_dispatch_tokens[n], session_id = p_session, started_at = v_now, deaths = v_dispatch_deaths[n]
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

-- As before (0150), but for suspects.
CREATE OR REPLACE FUNCTION pick_places(p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
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
        AND NOT r.subject_id = ANY (p_without) AND r.deaths = 0
      ORDER BY r.ready_at, r.subject_id LIMIT p_max FOR UPDATE OF r SKIP LOCKED) p
    LIMIT p_max),
  -- Dispatches beyond the room for them stay where they are.
  counted AS (SELECT p.*, row_number() OVER (PARTITION BY p.dispatch ORDER BY p.priority, p.ready_at, p.id) AS n FROM picked p)
  SELECT coalesce(array_agg(k.place), '{}'), coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.dispatch), '{}') INTO place, id, dispatch
    FROM counted k WHERE NOT k.dispatch OR k.n <= p_dispatches;
END $$;

CREATE OR REPLACE FUNCTION grant_waiting(p_session uuid, p_queues text[], p_max int, p_version int, p_kinds text[], p_min_age_ms bigint, p_dispatches int)
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_min_age_ms * interval '1 millisecond';
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_more record;
  v_admitted uuid[] := '{}';
  v_suspects record;
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT p.place, p.id, p.dispatch INTO v_suspects FROM pick_suspects(p_session, p_queues, p_max, p_version, p_kinds, v_until, p_dispatches) p;
  IF cardinality(v_suspects.id) > 0 THEN
    v_admitted := v_suspects.id;
    p_max := p_max - cardinality(v_admitted);
    p_dispatches := p_dispatches - cardinality(array_positions(v_suspects.dispatch, true));
  END IF;
  SELECT p.place, p.id, p.dispatch INTO v_place, v_id, v_dispatch FROM pick_places(p_queues, p_max, p_version, p_kinds, v_until, p_dispatches, v_admitted) p;
  -- Dispatches for which there is no room may have stood before others.
  IF p_dispatches > 0 AND cardinality(v_id) < p_max AND p_dispatches <= cardinality(array_positions(v_dispatch, true)) THEN
    SELECT p.place, p.id, p.dispatch INTO v_more FROM pick_places(p_queues, p_max - cardinality(v_id), p_version, p_kinds, v_until, 0, v_id || v_admitted) p;
    v_place := v_place || v_more.place;
    v_id := v_id || v_more.id;
    v_dispatch := v_dispatch || v_more.dispatch;
  END IF;
  IF cardinality(v_id) > p_max THEN
    RAISE EXCEPTION 'claimed % ready rows for a limit of %', cardinality(v_id), p_max USING ERRCODE = 'AC006';
  END IF;
  IF cardinality(v_admitted) > 0 THEN
    v_place := v_suspects.place || v_place;
    v_id := v_suspects.id || v_id;
    v_dispatch := v_suspects.dispatch || v_dispatch;
  END IF;
  -- hold: claim_ready_locked
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, NULL, '{}', '{}', v_admitted);
END $$;

CREATE OR REPLACE FUNCTION grant_named(p_session uuid, k_queue text[], k_priority int[], k_shard int[], k_at timestamptz[], k_subject uuid[], p_version int, p_kinds text[], p_dispatches int, k_released bigint[])
RETURNS granted LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_place tid[];
  v_id uuid[];
  v_dispatch boolean[];
  v_at timestamptz[];
  v_deaths int[];
  v_suspects record;
  v_admitted uuid[] := '{}';
BEGIN
  PERFORM lock_live_session(p_session);
  SELECT coalesce(array_agg(x.place), '{}'), coalesce(array_agg(x.id), '{}'), coalesce(array_agg(x.dispatch), '{}'), array_agg(x.ready_at), array_agg(x.deaths)
    INTO v_place, v_id, v_dispatch, v_at, v_deaths
    FROM (SELECT DISTINCT k.queue, k.priority, k.shard, k.at, k.subject FROM unnest(k_queue, k_priority, k_shard, k_at, k_subject) AS k(queue, priority, shard, at, subject)
          ORDER BY 5, 1, 2, 3, 4) k
    CROSS JOIN LATERAL (
      SELECT r.ctid AS place, r.subject_id AS id, r.kind = 'dispatch' AS dispatch, r.ready_at, r.deaths FROM ready r
      WHERE r.queue = k.queue AND r.priority = k.priority AND r.shard = k.shard AND r.ready_at = k.at AND r.subject_id = k.subject
        AND r.ready_at <= clock_timestamp() AND r.required_version <= p_version
        AND CASE WHEN r.kind = 'dispatch' THEN p_dispatches > 0 ELSE cardinality(p_kinds) = 0 OR r.kind = ANY (p_kinds) END
      FOR UPDATE OF r SKIP LOCKED) x;
  -- A message that names a suspect brings as many as it names, the worst that wait first, if this session may have them now.
  IF 0 < ANY (v_deaths) THEN
    SELECT p.place, p.id, p.dispatch INTO v_suspects
      FROM pick_suspects(p_session, ARRAY(SELECT DISTINCT q.queue FROM unnest(k_queue) AS q(queue)),
                         (SELECT count(*)::int FROM unnest(v_deaths) AS d(deaths) WHERE d.deaths > 0), p_version, p_kinds, clock_timestamp(), p_dispatches) p;
    v_admitted := v_suspects.id;
    p_dispatches := p_dispatches - cardinality(array_positions(v_suspects.dispatch, true));
    SELECT coalesce(array_agg(v.place), '{}'), coalesce(array_agg(v.id), '{}'), coalesce(array_agg(v.dispatch), '{}'), array_agg(v.at) INTO v_place, v_id, v_dispatch, v_at
      FROM unnest(v_place, v_id, v_dispatch, v_at, v_deaths) AS v(place, id, dispatch, at, deaths) WHERE v.deaths = 0 AND v.id <> ALL (v_admitted);
  END IF;
  IF true = ANY (v_dispatch) THEN  -- beyond the room for them they stay where they are
    SELECT coalesce(array_agg(u.place), '{}'), coalesce(array_agg(u.id), '{}'), coalesce(array_agg(u.dispatch), '{}') INTO v_place, v_id, v_dispatch
      FROM (SELECT v.*, row_number() OVER (PARTITION BY v.dispatch ORDER BY v.at, v.id) AS n FROM unnest(v_place, v_id, v_dispatch, v_at) AS v(place, id, dispatch, at)) u
      WHERE NOT u.dispatch OR u.n <= p_dispatches;
  END IF;
  -- hold: claim_keys_locked
  IF cardinality(v_admitted) > 0 THEN
    RETURN grant_rows(p_session, v_suspects.place || v_place, v_suspects.id || v_id, v_suspects.dispatch || v_dispatch, cardinality(k_subject)::bigint - cardinality(v_id),
                      k_subject, k_released, v_admitted);
  END IF;
  RETURN grant_rows(p_session, v_place, v_id, v_dispatch, cardinality(k_subject)::bigint - cardinality(v_id), k_subject, k_released);
END $$;

-- As before (0150); of a takeover without progress t3 says for how many of them the subject alone is to blame.
CREATE OR REPLACE FUNCTION read_granted(p_granted granted, p_later boolean DEFAULT false)
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
  RETURN QUERY SELECT 1, g.id, g.token, g.wake, h.head_seq, s.priority::bigint, g.takeovers_without_progress::bigint, g.sticky::int::bigint, s.project_id, h.journal_id, s.kind, s.queue,
                      CASE WHEN g.takeovers_without_progress > 0 THEN (SELECT x.alone::text FROM lease_history x WHERE x.subject_id = g.id AND x.token = g.token) END, NULL::text,
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

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
