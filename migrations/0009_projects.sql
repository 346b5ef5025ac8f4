-- migrate:up
-- Projects: goals, tasks and checkpoints by the names of document 000, section 6, and the keys that open the API.
SET LOCAL ROLE acl_owner;

-- What a project shows of itself. show_rows writes it in the commit; nothing is decided by it; `airun verify` makes it again and compares.
CREATE TABLE goals (
  project_id uuid NOT NULL,
  goal_id text NOT NULL,
  text text NOT NULL,
  priority int NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'paused', 'done')),
  withdrawn boolean NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, goal_id)
);
CREATE TABLE tasks (
  project_id uuid NOT NULL,
  task_id text NOT NULL,
  goal_id text NOT NULL,
  title text NOT NULL,
  status text NOT NULL CHECK (status IN ('todo', 'doing', 'blocked', 'done')),
  withdrawn boolean NOT NULL,
  priority int NOT NULL,
  acceptance_criteria text[] NOT NULL,
  depends_on text[] NOT NULL,
  holder text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, task_id)
);
CREATE TABLE checkpoints (
  project_id uuid NOT NULL,
  task_id text NOT NULL,
  where_we_left_off text NOT NULL,
  next_step text NOT NULL,
  needed_context_refs text[] NOT NULL,
  blockers text[] NOT NULL,
  "timestamp" timestamptz NOT NULL,
  PRIMARY KEY (project_id, task_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON goals, tasks, checkpoints TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON goals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- API keys: acl_<12 hex digits: the id>_<64 hex digits: the secret>; only the secret's hash is kept. `airun key` writes them, as the owner.
CREATE TABLE api_keys (
  key_id text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{12}$'),
  project_id uuid NOT NULL REFERENCES projects,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz,
  roles text[] NOT NULL DEFAULT '{}'                    -- of whoever uses the key: an approval may ask for one
);
GRANT SELECT ON api_keys TO acl_service;
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON api_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
