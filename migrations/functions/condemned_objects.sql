-- Condemns puts that began longer than p_grace_ms ago and never ended, and answers the keys of condemned objects, oldest first, that were
-- marked that long ago. The caller deletes the objects, then their marks.
CREATE OR REPLACE FUNCTION condemned_objects(p_grace_ms bigint, p_max int) RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
BEGIN
  WITH late AS MATERIALIZED (
    SELECT m.object_key FROM object_marks m WHERE NOT m.condemned AND m.marked_at < v_until ORDER BY m.object_key LIMIT p_max FOR UPDATE SKIP LOCKED)
  UPDATE object_marks m SET condemned = true FROM late l WHERE m.object_key = l.object_key;
  RETURN QUERY SELECT m.object_key FROM object_marks m WHERE m.condemned AND m.marked_at < v_until ORDER BY m.marked_at, m.object_key LIMIT p_max;
END $$;
