-- Queues and priorities that have ready rows, found by jumping from one to the next in the key: the cost is that of the lanes, not of the
-- rows. In plpgsql, which keeps its plans: an SQL function that cannot be inlined is parsed and planned at each call.
CREATE OR REPLACE FUNCTION ready_lanes() RETURNS TABLE (queue text, priority smallint) LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE lane AS (
      (SELECT r.queue, r.priority FROM ready r ORDER BY r.queue, r.priority LIMIT 1)
      UNION ALL
      SELECT n.queue, n.priority FROM lane l
      CROSS JOIN LATERAL (SELECT r.queue, r.priority FROM ready r WHERE (r.queue, r.priority) > (l.queue, l.priority) ORDER BY r.queue, r.priority LIMIT 1) n)
    SELECT lane.queue, lane.priority FROM lane;
END $$;
