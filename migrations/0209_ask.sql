-- migrate:up
-- Asking a language model, on record: the four tables of document 004, section 5.2, as projections of the journals of ask sessions (shared/kinds/ask/shown.h). What
-- was promised to be sent (ask_prepared) and what became of it (ask_outcome) are rows offloaded, so that a call without an answer is to be seen; `llm_exchange` is
-- both together. Nothing is decided by any of them; `airun verify` makes them again and compares.
SET LOCAL ROLE acl_owner;

CREATE TABLE chat_session (
  session_id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL,
  ended_at timestamptz,
  phase text NOT NULL,
  tier int NOT NULL,
  kernel_hash text NOT NULL,
  host_role text NOT NULL,
  model_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'closed'))
);
-- Beside the document's columns: who opened it.
CREATE TABLE ask_session (
  session_id uuid PRIMARY KEY REFERENCES chat_session DEFERRABLE INITIALLY DEFERRED,
  owner text NOT NULL
);
CREATE TABLE chat_turn (
  turn_id uuid PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES chat_session DEFERRABLE INITIALLY DEFERRED,
  created_at timestamptz NOT NULL,
  speaker text NOT NULL CHECK (speaker IN ('user', 'aurora')),
  content text NOT NULL,
  content_hash text NOT NULL,
  refusal boolean NOT NULL DEFAULT false,
  authority_state text NOT NULL CHECK (authority_state IN ('ok', 'insufficient', 'blocked')),
  driftwatch_id text
);
CREATE INDEX idx_chat_turn_session_time ON chat_turn (session_id, created_at);

CREATE TABLE ask_prepared (
  exchange_id uuid PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES chat_session DEFERRABLE INITIALLY DEFERRED,
  turn_user_id uuid NOT NULL REFERENCES chat_turn DEFERRABLE INITIALLY DEFERRED,
  asked_by text NOT NULL,
  request_key text,                                       -- Idempotency-Key of the ask
  context_bundle_hash text NOT NULL,
  context_bundle_json text,
  prompt_hash text NOT NULL,
  prefix_hash text NOT NULL,
  prompt_compiled text,
  provider text NOT NULL,
  model text NOT NULL,
  reserved_micros bigint NOT NULL,                        -- millionths of a dollar
  prepared_at timestamptz NOT NULL,
  deadline timestamptz NOT NULL
);
CREATE INDEX ask_prepared_key ON ask_prepared (request_key, asked_by) WHERE request_key IS NOT NULL;
CREATE INDEX ask_prepared_session ON ask_prepared (session_id, prepared_at);
CREATE TABLE ask_outcome (
  exchange_id uuid PRIMARY KEY REFERENCES ask_prepared DEFERRABLE INITIALLY DEFERRED,
  session_id uuid NOT NULL REFERENCES chat_session DEFERRABLE INITIALLY DEFERRED,
  status text NOT NULL CHECK (status IN ('RECORDED', 'FAILED', 'UNCERTAIN')),
  turn_aurora_id uuid REFERENCES chat_turn DEFERRABLE INITIALLY DEFERRED,
  response_hash text,
  response_sanitized text,
  validator_summary text,
  code text,
  message text,
  answer text,                                            -- JSON: finish_reason, usage ...
  cost_micros bigint NOT NULL,
  ended_at timestamptz NOT NULL,
  CHECK (status <> 'RECORDED' OR (turn_aurora_id IS NOT NULL AND response_hash IS NOT NULL AND validator_summary IS NOT NULL))
);
CREATE INDEX ask_outcome_session ON ask_outcome (session_id);
CREATE VIEW llm_exchange AS
SELECT p.exchange_id, p.session_id, p.turn_user_id, o.turn_aurora_id, p.context_bundle_hash, p.context_bundle_json, p.prompt_hash, p.prompt_compiled,
       o.response_hash, o.response_sanitized, o.validator_summary, o.ended_at AS created_at
  FROM ask_prepared p JOIN ask_outcome o ON o.exchange_id = p.exchange_id WHERE o.status = 'RECORDED';

CREATE TABLE context_artifact_ref (
  ref_id uuid PRIMARY KEY,
  exchange_id uuid NOT NULL REFERENCES ask_prepared DEFERRABLE INITIALLY DEFERRED,
  artifact_type text NOT NULL,
  artifact_id text NOT NULL,
  artifact_hash text,
  included_reason text NOT NULL,
  observed_at timestamptz,
  freshness_s int,
  risk_flags text
);
CREATE INDEX idx_context_artifact_exchange ON context_artifact_ref (exchange_id);

CREATE TABLE driftwatch (
  driftwatch_id text NOT NULL,
  session_id uuid NOT NULL REFERENCES chat_session DEFERRABLE INITIALLY DEFERRED,
  kind text NOT NULL,
  exchange_id uuid NOT NULL REFERENCES ask_prepared DEFERRABLE INITIALLY DEFERRED,
  drift_class text NOT NULL,
  severity text NOT NULL,
  summary text NOT NULL,
  prompt_hash text NOT NULL,
  response_hash text NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'closed')),
  opened_at timestamptz NOT NULL,
  closed_at timestamptz,
  closed_by text,
  closed_reason text,
  PRIMARY KEY (session_id, driftwatch_id)
);
-- What a project's ledger shows (shared/kinds/ledger).
CREATE TABLE ledger_fact (
  subject_id uuid NOT NULL,
  ledger_id text NOT NULL,                                -- "ledger:000183"
  claim text NOT NULL,
  source text NOT NULL,
  confidence text NOT NULL CHECK (confidence IN ('low', 'medium', 'high')),
  subject text,
  contradicts text[] NOT NULL,
  status text NOT NULL CHECK (status IN ('proposed', 'ratified', 'retracted')),
  proposed_by text NOT NULL,
  proposed_at timestamptz NOT NULL,
  decided_by text,
  decided_at timestamptz,
  reason text,
  PRIMARY KEY (subject_id, ledger_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON ledger_fact, ask_session, chat_session, chat_turn, ask_prepared, ask_outcome, context_artifact_ref, driftwatch TO acl_service;
GRANT SELECT ON llm_exchange TO acl_service;
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY '{ask_session,chat_session,chat_turn,ask_prepared,ask_outcome,context_artifact_ref,driftwatch,ledger_fact}'::text[] LOOP
    EXECUTE format('CREATE TRIGGER not_truncated BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', t);
  END LOOP;
END $$;

-- As 0193, for the tables of every kind: v_owner names the column that holds the subject, if the table has one; v_key the row's id, of type v_type.
CREATE OR REPLACE FUNCTION show_rows(p_subject uuid, p_table text[], p_id text[], p_row text[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_known constant text[] := '{goals,tasks,checkpoints,chat_session,chat_turn,ask_prepared,ask_outcome,context_artifact_ref,driftwatch,ledger_fact,ask_session}';
  v_owner constant text[] := '{project_id,project_id,project_id,session_id,session_id,session_id,session_id,NULL,session_id,subject_id,session_id}';
  v_key constant text[] := '{goal_id,task_id,task_id,session_id,turn_id,exchange_id,exchange_id,ref_id,driftwatch_id,ledger_id,session_id}';
  v_type constant text[] := '{text,text,text,uuid,uuid,uuid,uuid,uuid,text,text,uuid}';
  v_table text;
  n int;
BEGIN
  FOREACH v_table IN ARRAY ARRAY(SELECT DISTINCT t FROM unnest(p_table) AS t) LOOP
    n := array_position(v_known, v_table);
    IF n IS NULL THEN
      RAISE EXCEPTION 'there is no table % to show rows in', v_table USING ERRCODE = 'AC006';
    END IF;
    EXECUTE format('DELETE FROM %I g USING unnest($2, $3) AS r(tab, id) WHERE r.tab = $4 AND %s g.%I = r.id::%s AND $1 IS NOT NULL', v_table,
                   CASE WHEN v_owner[n] IS NULL THEN '' ELSE format('g.%I = $1 AND', v_owner[n]) END, v_key[n], v_type[n])
      USING p_subject, p_table, p_id, v_table;
    EXECUTE format('INSERT INTO %1$I SELECT g.* FROM unnest($2, $3) AS r(tab, shown)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::%1$I, r.shown::jsonb || $5) g WHERE r.tab = $4 AND r.shown IS NOT NULL AND $1 IS NOT NULL', v_table)
      USING p_subject, p_table, p_row, v_table, CASE WHEN v_owner[n] IS NULL THEN '{}'::jsonb ELSE jsonb_build_object(v_owner[n], p_subject) END;
  END LOOP;
END $$;

-- As 0197.
CREATE OR REPLACE FUNCTION shown_rows(p_first uuid, p_last uuid) RETURNS TABLE (subject_id uuid, tab text, id text, shown text) LANGUAGE sql STABLE AS $$
  SELECT g.project_id, 'goals', g.goal_id, (to_jsonb(g) - 'project_id' || jsonb_build_object('created_at', utc_text(g.created_at)))::text
    FROM goals g WHERE g.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.project_id, 'tasks', t.task_id, (to_jsonb(t) - 'project_id' || jsonb_build_object('updated_at', utc_text(t.updated_at)))::text
    FROM tasks t WHERE t.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT c.project_id, 'checkpoints', c.task_id, (to_jsonb(c) - 'project_id' || jsonb_build_object('timestamp', utc_text(c."timestamp")))::text
    FROM checkpoints c WHERE c.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT s.session_id, 'chat_session', s.session_id::text,
         (to_jsonb(s) - 'session_id' || jsonb_build_object('started_at', utc_text(s.started_at), 'ended_at', utc_text(s.ended_at)))::text
    FROM chat_session s WHERE s.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT a.session_id, 'ask_session', a.session_id::text, (to_jsonb(a) - 'session_id')::text FROM ask_session a WHERE a.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.session_id, 'chat_turn', t.turn_id::text, (to_jsonb(t) - 'session_id' || jsonb_build_object('created_at', utc_text(t.created_at)))::text
    FROM chat_turn t WHERE t.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'ask_prepared', p.exchange_id::text,
         (to_jsonb(p) - 'session_id' || jsonb_build_object('prepared_at', utc_text(p.prepared_at), 'deadline', utc_text(p.deadline)))::text
    FROM ask_prepared p WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT o.session_id, 'ask_outcome', o.exchange_id::text, (to_jsonb(o) - 'session_id' || jsonb_build_object('ended_at', utc_text(o.ended_at)))::text
    FROM ask_outcome o WHERE o.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'context_artifact_ref', r.ref_id::text, (to_jsonb(r) || jsonb_build_object('observed_at', utc_text(r.observed_at)))::text
    FROM context_artifact_ref r JOIN ask_prepared p ON p.exchange_id = r.exchange_id WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT d.session_id, 'driftwatch', d.driftwatch_id,
         (to_jsonb(d) - 'session_id' || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at)))::text
    FROM driftwatch d WHERE d.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT f.subject_id, 'ledger_fact', f.ledger_id,
         (to_jsonb(f) - 'subject_id' || jsonb_build_object('proposed_at', utc_text(f.proposed_at), 'decided_at', utc_text(f.decided_at)))::text
    FROM ledger_fact f WHERE f.subject_id BETWEEN p_first AND p_last
$$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
