-- Takes new messages out of the outbox, then leases up to p_max deliveries that are due to the caller for p_lease_ms: at most p_each of an
-- endpoint, none of the endpoints in p_full, and of each subject and endpoint only the first. A caller that dies leaves its deliveries to
-- whoever asks after the lease.
CREATE OR REPLACE FUNCTION claim_deliveries(p_max int, p_each int, p_full text[], p_lease_ms bigint) RETURNS SETOF deliveries LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_left int := p_max;
  v_now timestamptz;
  v_rows int;
  e record;
BEGIN
  PERFORM take_deliveries(256);
  v_now := clock_timestamp();
  FOR e IN SELECT d.channel, d.endpoint FROM deliveries d WHERE d.state = 'pending' AND d.next_attempt_at <= v_now AND d.endpoint <> ALL (p_full)
           GROUP BY d.channel, d.endpoint ORDER BY min(d.next_attempt_at) LOOP
    EXIT WHEN v_left <= 0;
    RETURN QUERY
    WITH due AS MATERIALIZED (
      SELECT d.position FROM deliveries d
      WHERE d.state = 'pending' AND d.channel = e.channel AND d.endpoint = e.endpoint AND d.next_attempt_at <= v_now
        AND NOT EXISTS (SELECT FROM deliveries f WHERE f.state = 'pending' AND f.subject_id = d.subject_id AND f.channel = d.channel
                        AND f.endpoint = d.endpoint AND f.position < d.position)
      ORDER BY d.next_attempt_at, d.position LIMIT least(p_each, v_left) FOR UPDATE SKIP LOCKED)
    UPDATE deliveries d SET attempts = d.attempts + 1, next_attempt_at = v_now + p_lease_ms * interval '1 millisecond',
                            held_until = v_now + p_lease_ms * interval '1 millisecond'
    FROM due WHERE d.position = due.position RETURNING d.*;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
  END LOOP;
END $$;
