-- migrate:up
-- Rights first, triggers as the second line: a mistake in a statement, or a person at psql, cannot rewrite what happened.
SET LOCAL ROLE acl_owner;

GRANT SELECT, INSERT, UPDATE, DELETE ON worker_sessions, ready, timers, inbox, dispatches, outbox, request_keys, leader_leases TO acl_service;
GRANT SELECT, INSERT, UPDATE ON subject_head, leases, listings, quarantine TO acl_service;
GRANT SELECT, INSERT ON subjects, event_rows, attempt_rows, completion_rows, lease_history, compensation_rows, contents, content_chunks
  TO acl_service;
GRANT SELECT, INSERT, DELETE ON snapshot_rows TO acl_service;
GRANT SELECT ON projects, fleet_epoch TO acl_service;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: its rows are written once', TG_OP, TG_TABLE_NAME USING ERRCODE = '42501';
END $$;

-- The one change an event may see: the owner removes its content. Everything the chain covers stays.
CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND current_user = 'acl_owner' AND NEW.payload IS NULL THEN
    OLD.payload := NULL;
    IF OLD IS NOT DISTINCT FROM NEW THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION '% of event_rows is refused: events are immutable', TG_OP USING ERRCODE = '42501';
END $$;

CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON event_rows FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON attempt_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON completion_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON lease_history FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON compensation_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON contents FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON content_chunks FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON snapshot_rows FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER not_truncated BEFORE TRUNCATE ON event_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON attempt_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON completion_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON lease_history FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON compensation_rows FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON leases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A lease row lives as long as its subject, and its token only grows.
CREATE FUNCTION guard_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM subjects WHERE subject_id = OLD.subject_id) THEN
      RAISE EXCEPTION 'DELETE of a lease is refused while its subject % exists', OLD.subject_id USING ERRCODE = '42501';
    END IF;
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the token of % may only grow: % after %', OLD.subject_id, NEW.token, OLD.token USING ERRCODE = '42501';
END $$;
CREATE TRIGGER lease_stays BEFORE DELETE ON leases FOR EACH ROW EXECUTE FUNCTION guard_lease();
CREATE TRIGGER token_grows BEFORE UPDATE ON leases FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION guard_lease();

-- Retention and erasure: removes contents of a subject's events up to a sequence number. Owner only.
CREATE FUNCTION remove_contents(p_subject uuid, p_upto_seq bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE v_count bigint;
BEGIN
  UPDATE event_rows SET payload = NULL WHERE subject_id = p_subject AND seq <= p_upto_seq AND payload IS NOT NULL;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
REVOKE ALL ON FUNCTION remove_contents(uuid, bigint) FROM PUBLIC;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
