-- migrate:up
-- Two roles of the cluster. acl_owner owns every object and is used for migrations and maintenance only; acl_service is what the
-- processes run as and has no right to change what is written once. Login roles are members of one of them (docs: operations).
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'acl_owner') THEN
    CREATE ROLE acl_owner NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;   -- another database of the cluster is being migrated too
END $$;
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'acl_service') THEN
    CREATE ROLE acl_service NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$
BEGIN
  IF NOT pg_has_role(current_user, 'acl_owner', 'MEMBER') THEN
    EXECUTE format('GRANT acl_owner TO %I', current_user);
  END IF;
  IF NOT pg_has_role(current_user, 'acl_service', 'MEMBER') THEN
    EXECUTE format('GRANT acl_service TO %I', current_user);
  END IF;
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO acl_owner;
GRANT USAGE ON SCHEMA public TO acl_service;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
