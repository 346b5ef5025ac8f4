-- migrate:up
-- What a group commit is given: rows instead of an array a column (docs/decisions.md, "Speed"). Programs send these types in binary form, by position: a type
-- here is never altered. What needs other columns gets a type of another name.
SET LOCAL ROLE acl_owner;

CREATE TYPE commit_item AS (
  n int, subject uuid, session uuid, token bigint, base bigint, head bigint, chain bytea, root bytea, at timestamptz, disposition int, wake bigint,
  required int, not_before timestamptz, reason text, next_wake timestamptz);
CREATE TYPE commit_event AS (
  item int, subject uuid, token bigint, seq bigint, journal uuid, type text, schema int, producer text, at timestamptz, checksum bytea, content bytea,
  chain bytea, payload text, offloaded boolean);
CREATE TYPE commit_attempt AS (item int, subject uuid, token bigint, step text, attempt int, at timestamptz);
CREATE TYPE commit_completion AS (
  item int, subject uuid, token bigint, step text, attempt int, fused boolean, seq bigint, at timestamptz, checksum bytea);
CREATE TYPE commit_timer AS (item int, subject uuid, id text, at timestamptz);
CREATE TYPE commit_listing AS (item int, subject uuid, status text, error text, started timestamptz, completed timestamptz, at timestamptz);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
