-- Grants what messages name, each row of ready at most once. A row that is gone, locked by another claim, not due or not for this program
-- is passed by. `missing` of the answer counts rows that were not there.
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
