-- pick_lanes with the order of the two lanes: what has begun goes first, but one look in four takes new runs first, so they have a quarter
-- of the places while both wait.
CREATE OR REPLACE FUNCTION pick_places(p_queues text[], p_max int, p_version int, p_kinds text[], p_until timestamptz, p_dispatches int, p_without uuid[], OUT place tid[], OUT id uuid[], OUT dispatch boolean[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_begun boolean[] := CASE WHEN NOT begun_waits(p_queues, p_until) THEN ARRAY[false] WHEN random() < 0.25 THEN ARRAY[false, true] ELSE ARRAY[true, false] END;
BEGIN
  SELECT p.place, p.id, p.dispatch INTO place, id, dispatch FROM pick_lanes(v_begun, p_queues, p_max, p_version, p_kinds, p_until, p_dispatches, p_without) p;
END $$;
