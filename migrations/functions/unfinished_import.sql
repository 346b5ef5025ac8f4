-- Whether a project is an import whose last events are not there yet (its first event says how many there will be). Until then nobody sees
-- it.
CREATE OR REPLACE FUNCTION unfinished_import(p_project uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM event_rows e JOIN subject_head h ON h.subject_id = e.subject_id
    WHERE e.subject_id = p_project AND e.seq = 1 AND e.type = 'project.imported' AND h.head_seq <= (e.payload::jsonb -> 'origin' ->> 'head_seq')::bigint)
$$;
