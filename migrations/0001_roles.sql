-- migrate:up
-- Two roles of the cluster. acl_owner owns every object and is used by migrations and maintenance only. The processes run as acl_service,
-- which has no right to change what is written once. Login roles are members of one of the two (docs/operate/operations.md).
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

-- Triggers stand with their tables, in these files; what they do stands in functions/, which is applied behind them. Until then each
-- function of a trigger refuses whatever fires it, so a database without its functions takes no write that nothing guards.
SET LOCAL ROLE acl_owner;
DO $$
DECLARE v_name text;
BEGIN
  FOREACH v_name IN ARRAY ARRAY['refuse_change', 'refuse_event_change', 'refuse_segment_change', 'refuse_content_change', 'guard_lease',
                                'raise_wake', 'release_chunks', 'keep_closing_snapshot', 'show_approval'] LOOP
    EXECUTE format($f$
      CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $t$
      BEGIN
        RAISE EXCEPTION '%% of %% is refused: the functions of this database are missing', TG_OP, TG_TABLE_NAME
          USING ERRCODE = '55000', HINT = 'run: airun db migrate';
      END $t$ $f$, v_name);
  END LOOP;
END $$;
RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operate/upgrading.md)'; END $$;
