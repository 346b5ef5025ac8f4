-- migrate:up
-- The object of a content that was collected is kept for another grace time. An asynchronous failover may lose the collection: then the row is there again, and who puts the
-- same content is told that it is there.
SET LOCAL ROLE acl_owner;

-- Puts that never ended are condemned after the grace time; answers the keys of objects that were condemned, oldest first, if the grace time has passed since they were marked.
CREATE OR REPLACE FUNCTION condemned_objects(p_grace_ms bigint, p_max int) RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_until timestamptz := clock_timestamp() - p_grace_ms * interval '1 millisecond';
BEGIN
  WITH late AS MATERIALIZED (
    SELECT m.object_key FROM object_marks m WHERE NOT m.condemned AND m.marked_at < v_until ORDER BY m.object_key LIMIT p_max FOR UPDATE SKIP LOCKED)
  UPDATE object_marks m SET condemned = true FROM late l WHERE m.object_key = l.object_key;
  RETURN QUERY SELECT m.object_key FROM object_marks m WHERE m.condemned AND m.marked_at < v_until ORDER BY m.marked_at, m.object_key LIMIT p_max;
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
