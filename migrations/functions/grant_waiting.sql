-- Grants up to p_max leases of what has been ready for p_min_age_ms in these queues, p_dispatches of them dispatches at most: suspects
-- that this session may have first, then priority by priority.
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
