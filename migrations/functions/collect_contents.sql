-- Removes contents that nobody refers to and nobody has put again for p_grace_ms: one page in the order of last use, from behind (p_at,
-- p_hash) on. It locks first and tests in a later statement. A transaction that adds a reference or puts the content again locks the row
-- too, so it is passed by, or it comes later and finds the content gone. An object's key is marked condemned; the collector deletes the
-- object.
CREATE OR REPLACE FUNCTION collect_contents(p_grace_ms bigint, p_at timestamptz, p_hash bytea, p_max int)
RETURNS TABLE (examined int, removed int, last_at timestamptz, last_hash bytea) LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
  v_free bytea[];
BEGIN
  SELECT count(*)::int, (array_agg(x.used_at ORDER BY x.used_at DESC, x.hash DESC))[1], (array_agg(x.hash ORDER BY x.used_at DESC, x.hash DESC))[1],
         coalesce(array_agg(x.hash) FILTER (WHERE NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = x.hash) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = x.hash)), '{}')
    INTO examined, last_at, last_hash, v_free
    FROM (SELECT c.used_at, c.hash FROM contents c
          WHERE c.used_at IS NOT NULL AND (c.used_at, c.hash) > (p_at, p_hash) AND c.used_at < v_until ORDER BY c.used_at, c.hash LIMIT p_max) x;
  -- hold: collect_seen
  SELECT coalesce(array_agg(l.hash), '{}') INTO v_free
    FROM (SELECT c.hash FROM contents c WHERE c.hash = ANY (v_free) ORDER BY c.hash FOR UPDATE SKIP LOCKED) l;
  -- hold: collect_locked
  WITH gone AS (
    DELETE FROM contents c WHERE c.hash = ANY (v_free) AND NOT EXISTS (SELECT FROM segment_refs r WHERE r.hash = c.hash)
      AND c.used_at < v_until AND NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = c.hash)
    RETURNING c.hash, c.object_key),
  chunks AS (DELETE FROM content_chunks k USING gone g WHERE k.hash = g.hash),
  marked AS (
    INSERT INTO object_marks (object_key, hash, condemned) SELECT g.object_key, g.hash, true FROM gone g WHERE g.object_key IS NOT NULL)
  SELECT count(*)::int INTO removed FROM gone;
  RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION collect_contents(bigint, timestamptz, bytea, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION collect_contents(bigint, timestamptz, bytea, int) TO acl_service;
