-- migrate:up
-- Keys of the HTTP API: only hashes of them. The service role may read them; making and revoking one is the owner's.
SET LOCAL ROLE acl_owner;

CREATE TABLE api_keys (
  key_id text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{12}$'),
  project_id uuid NOT NULL REFERENCES projects,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);
GRANT SELECT ON api_keys TO acl_service;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
