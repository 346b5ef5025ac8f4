-- migrate:up
-- Asking a language model, on record: the tables of document 004, section 5.2, as ask sessions show themselves (shared/kinds/ask/shown.h),
-- and the ledger of facts. show_rows writes them in the commit; nothing is decided by them; `airun verify` makes them again and compares.
-- What is promised to be sent (ask_prepared) and what became of it (ask_outcome) are rows apart, so a call without an answer is seen.
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
  request_key text,                                       -- the Idempotency-Key of the ask
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
-- What a project's ledger of facts shows (shared/kinds/ledger).
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
GRANT SELECT, INSERT, UPDATE, DELETE
  ON chat_session, ask_session, chat_turn, ask_prepared, ask_outcome, context_artifact_ref, driftwatch, ledger_fact TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON chat_session FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ask_session FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON chat_turn FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ask_prepared FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ask_outcome FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON context_artifact_ref FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON driftwatch FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON ledger_fact FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
