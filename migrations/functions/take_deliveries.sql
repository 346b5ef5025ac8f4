-- Turns outbox rows of topics webhook/EVENT and cloudevent/TYPE into deliveries, in their order. Of two at once the second waits for the
-- rows of the first and finds them gone. A malformed row is dead from the start and says why, so it is not lost and delays nobody.
CREATE OR REPLACE FUNCTION take_deliveries(p_max int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_taken int;
BEGIN
  WITH wanted AS MATERIALIZED (
    SELECT o.outbox_id FROM outbox o WHERE o.topic LIKE 'webhook/%' OR o.topic LIKE 'cloudevent/%' ORDER BY o.outbox_id LIMIT p_max FOR UPDATE),
  taken AS (DELETE FROM outbox o USING wanted w WHERE o.outbox_id = w.outbox_id RETURNING o.*),
  read AS (SELECT t.*, json_of(t.payload) AS j, t.topic LIKE 'webhook/%' AS webhook FROM taken t),
  said AS (
    SELECT r.*, r.j ->> 'id' AS id, CASE WHEN r.webhook THEN r.j ->> 'endpoint' ELSE r.j ->> 'topic' END AS endpoint,
           CASE WHEN r.webhook THEN r.j -> 'payload' ELSE r.j -> 'data' END AS body FROM read r),
  judged AS (
    SELECT s.*, coalesce(length(s.id) BETWEEN 1 AND 200 AND s.endpoint <> '' AND s.body IS NOT NULL, false) AS whole FROM said s)
  INSERT INTO deliveries (position, message_id, project_id, subject_id, channel, endpoint, event, body, about, created_at, next_attempt_at, state, ended_at, last_error)
  SELECT s.outbox_id, CASE WHEN s.whole THEN s.id ELSE 'malformed_' || s.outbox_id END,
         coalesce(j.project_id, '00000000-0000-7000-8000-000000000001'), s.subject_id, CASE WHEN s.webhook THEN 'webhook' ELSE 'kafka' END,
         coalesce(s.endpoint, ''), substr(s.topic, strpos(s.topic, '/') + 1), CASE WHEN s.whole THEN s.body::text ELSE s.payload END,
         coalesce(s.j ->> 'subject', ''), s.created_at, clock_timestamp(), CASE WHEN s.whole THEN 'pending' ELSE 'dead' END,
         CASE WHEN NOT s.whole THEN clock_timestamp() END, CASE WHEN s.whole THEN '' ELSE 'malformed: no JSON with an id, an endpoint or topic, and a payload' END
  FROM judged s LEFT JOIN subjects j ON j.subject_id = s.subject_id
  ON CONFLICT (message_id) DO NOTHING;
  GET DIAGNOSTICS v_taken = ROW_COUNT;
  RETURN v_taken;
END $$;
