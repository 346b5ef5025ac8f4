-- migrate:up
-- What projects show of themselves, as `show_rows` (0193) takes it: for who compares it with the journals (airun verify). And projects that
-- come from elsewhere (coordinator/projects/transfer.h).
SET LOCAL ROLE acl_owner;

CREATE FUNCTION utc_text(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS
  $$ SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- Rows of the subjects from `p_first` to `p_last`, by subject.
CREATE FUNCTION shown_rows(p_first uuid, p_last uuid) RETURNS TABLE (subject_id uuid, tab text, id text, shown text) LANGUAGE sql STABLE AS $$
  SELECT g.project_id, 'goals', g.goal_id, (to_jsonb(g) - 'project_id' || jsonb_build_object('created_at', utc_text(g.created_at)))::text
    FROM goals g WHERE g.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.project_id, 'tasks', t.task_id, (to_jsonb(t) - 'project_id' || jsonb_build_object('updated_at', utc_text(t.updated_at)))::text
    FROM tasks t WHERE t.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT c.project_id, 'checkpoints', c.task_id, (to_jsonb(c) - 'project_id' || jsonb_build_object('timestamp', utc_text(c."timestamp")))::text
    FROM checkpoints c WHERE c.project_id BETWEEN p_first AND p_last
$$;

-- An import whose last events are not there yet: its first event says how many there will be. Until then the project is nobody's.
CREATE FUNCTION unfinished_import(p_project uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM event_rows e JOIN subject_head h ON h.subject_id = e.subject_id
    WHERE e.subject_id = p_project AND e.seq = 1 AND e.type = 'project.imported' AND h.head_seq <= (e.payload::jsonb -> 'origin' ->> 'head_seq')::bigint)
$$;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
