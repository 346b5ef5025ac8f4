-- migrate:up
-- Messages to the outside (shared/kernel/publish.h, shared/delivery/store.h): outbox rows of topics `webhook/EVENT` and `cloudevent/TYPE` become rows here, once each
-- and in the order of the rows, and stay as the record of what was sent.
SET LOCAL ROLE acl_owner;

CREATE TABLE deliveries (
  position bigint PRIMARY KEY,                            -- its outbox_id
  message_id text NOT NULL UNIQUE CHECK (message_id <> '' AND length(message_id) <= 200),
  project_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  channel text NOT NULL CHECK (channel IN ('webhook', 'kafka')),
  endpoint text NOT NULL,                                 -- the name of a webhook's endpoint; a topic
  event text NOT NULL,
  body text NOT NULL,                                     -- JSON
  about text NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'discarded')),
  attempts int NOT NULL DEFAULT 0,                        -- begun
  failures int NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  next_attempt_at timestamptz NOT NULL,                   -- while somebody has it: when others may take it up
  held_until timestamptz,                                 -- the same; null: nobody has it
  ended_at timestamptz,
  last_error text NOT NULL DEFAULT '',
  CHECK ((state = 'pending') = (ended_at IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (channel, endpoint, next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (subject_id, channel, endpoint, position) WHERE state = 'pending';
CREATE INDEX deliveries_dead ON deliveries (project_id, position) WHERE state = 'dead';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE state IN ('delivered', 'discarded');

-- The newest of each are kept (kAttemptsKept).
CREATE TABLE delivery_attempts (
  message_id text NOT NULL REFERENCES deliveries (message_id) ON DELETE CASCADE,
  attempt int NOT NULL,
  at timestamptz NOT NULL,
  took_ms bigint NOT NULL,
  status int NOT NULL,
  error text NOT NULL,
  PRIMARY KEY (message_id, attempt)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON deliveries, delivery_attempts TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON delivery_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- NULL: it is no JSON.
CREATE FUNCTION json_of(p_text text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN p_text::json;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
  RETURN NULL;
END $$;

-- Out of the outbox. Two at once: the second waits for the rows of the first and finds them gone. What nobody could send (written otherwise than by publish.h) is dead from the
-- start and says why: it keeps nobody else waiting, and is not lost.
CREATE FUNCTION take_deliveries(p_max int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
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

-- What was said since, out of the outbox; then those that are due, of every endpoint some, each the first of its subject to its endpoint. They are the caller's for p_lease_ms; whoever dies with one leaves it
-- to be taken up then.
CREATE FUNCTION claim_deliveries(p_max int, p_each int, p_full text[], p_lease_ms bigint) RETURNS SETOF deliveries LANGUAGE plpgsql VOLATILE AS $$
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

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
