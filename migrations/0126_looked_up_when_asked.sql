-- migrate:up
-- What a commit asks seldom. As a subquery of the statement it would be set up, with its tables and their keys, for every batch. STABLE: they see what the statement
-- sees.
SET LOCAL ROLE acl_owner;

-- The attempt of a step that stands beside the events (0125), unless the step's completion stands there too.
CREATE FUNCTION attempt_beside(p_subject uuid, p_step text, p_attempt int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT r.attempt_id FROM other_attempts r
          WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
            AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL);
END $$;

CREATE FUNCTION has_lease(p_subject uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT true FROM leases l WHERE l.subject_id = p_subject), false);
END $$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
