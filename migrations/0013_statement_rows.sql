-- migrate:up
-- The rows that statements are given and functions hand to each other. A program binds a batch as one array of such rows in binary form, by
-- position (shared/postgres/pq_codec.h): so a type is never altered; a new version of it is a new type beside it.
SET LOCAL ROLE acl_owner;

-- The commit (shared/postgres/commit_statement.cc): one item a subject, and what belongs to items by their number.
CREATE TYPE commit_item AS (
  n int, subject uuid, session uuid, token bigint, base bigint, head bigint, chain bytea, root bytea, at timestamptz, disposition int,
  wake bigint, required int, not_before timestamptz, reason text, next_wake timestamptz);
CREATE TYPE commit_event AS (
  item int, subject uuid, token bigint, seq bigint, journal uuid, type text, schema int, producer text, at timestamptz, checksum bytea,
  content bytea, chain bytea, payload text, offloaded boolean);
CREATE TYPE commit_attempt AS (item int, subject uuid, token bigint, step text, attempt int, at timestamptz);
CREATE TYPE commit_completion AS (
  item int, subject uuid, token bigint, step text, attempt int, fused boolean, seq bigint, at timestamptz, checksum bytea);
CREATE TYPE commit_timer AS (item int, subject uuid, id text, at timestamptz);
CREATE TYPE commit_listing AS (
  item int, subject uuid, status text, error text, started timestamptz, completed timestamptz, at timestamptz);

-- An event with the completion and the attempt that stand in its row. `content` is null if it is the checksum; `held`: the same commit
-- writes the attempt that it completes; `root` is not null if `payload` is packed.
CREATE TYPE packed_entry AS (
  item int, subject uuid, token bigint, seq bigint, journal uuid, type text, schema int, producer text, at timestamptz, checksum bytea,
  content bytea, chain bytea, payload text, root bytea, offloaded boolean, completed text, attempt int, held boolean, result bytea,
  begun text, begun_attempt int, begun_at timestamptz);

-- Create (shared/postgres/create_statement.cc): a run; its only event comes as another array. `definition` is the hash of the text.
CREATE TYPE create_row AS (
  n int, subject uuid, project uuid, kind text, queue text, priority int, version int, head bigint, chain bytea, root bytea, journal uuid,
  at timestamptz, deadline timestamptz, ready boolean, session uuid, name text, name_version text, owner text, status text,
  definition bytea, labels text, traceparent text);

-- What a grant gave, from grant_rows to read_granted. By subject: token, wake-up counter, takeovers without progress, and whether nobody
-- held it since the claimer gave it up. `dispatch`: dispatches that it took. `dropped`: ready rows of subjects that are held or closed,
-- and of dispatches that are wanted back; `missing`: named and not there; `poisoned`: subjects that were quarantined.
CREATE TYPE granted AS (
  at timestamptz, subject uuid[], token bigint[], wake bigint[], takeovers_without_progress int[], sticky boolean[], dispatch uuid[],
  dropped bigint, poisoned bigint, missing bigint);

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
