-- Whether runs that have begun are ready at p_until in one of these queues: one look at the index ready_begun for each.
CREATE OR REPLACE FUNCTION begun_waits(p_queues text[], p_until timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN EXISTS (SELECT FROM unnest(p_queues) AS q(queue)
                 CROSS JOIN LATERAL (SELECT 1 FROM ready r WHERE r.begun AND r.deaths = 0 AND r.queue = q.queue AND r.ready_at <= p_until
                                     ORDER BY r.priority * 4 + r.shard, r.ready_at, r.subject_id LIMIT 1) w);
END $$;
