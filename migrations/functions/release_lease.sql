-- Returns a lease that was granted and not used: the subject is ready again, and what it was suspected of stays.
CREATE OR REPLACE FUNCTION release_lease(p_subject uuid, p_session uuid, p_token bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH freed AS (
    UPDATE leases l SET session_id = NULL, last_end = 2, acquired_at = NULL
    WHERE l.subject_id = p_subject AND l.session_id = p_session AND l.token = p_token RETURNING l.subject_id, l.state, l.required_version)
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)
  SELECT s.queue, s.priority, ready_shard(s.subject_id), clock_timestamp(), s.subject_id, s.kind, f.required_version,
         (SELECT x.head_seq > 1 FROM subject_head x WHERE x.subject_id = f.subject_id)
  FROM freed f JOIN subjects s ON s.subject_id = f.subject_id WHERE f.state = 0 ON CONFLICT DO NOTHING
$$;
