-- Grants the rows of ready that its callers picked and locked: locks the leases, raises their tokens, counts takeovers without progress,
-- quarantines what kills its workers, starts dispatches, and deletes the rows. p_admitted: suspects that this session may have; other
-- suspects stay ready. k_released: tokens under which the caller released subjects; if nobody held one since, its state is still in the
-- caller's memory (`sticky`). It raises tokens and reads nothing of the journal: read_granted does, in a later statement, so that it sees
-- the last commit of the holder before.
CREATE OR REPLACE FUNCTION grant_rows(p_session uuid, p_place tid[], p_id uuid[], p_dispatch boolean[], p_missing bigint, k_subject uuid[] DEFAULT '{}', k_released bigint[] DEFAULT '{}', p_admitted uuid[] DEFAULT '{}')
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
