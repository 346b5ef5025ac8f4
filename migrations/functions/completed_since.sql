-- Whether a step of the subject completed behind this place in its journal. enable_seqscan is off because a plan made while a table was
-- nearly empty would read the whole table later.
CREATE OR REPLACE FUNCTION completed_since(p_subject uuid, p_seq bigint) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT e.seq FROM journal_rows e WHERE e.subject_id = p_subject AND e.seq > p_seq AND e.completed IS NOT NULL LIMIT 1) IS NOT NULL
      OR (SELECT o.event_seq FROM other_completions o WHERE o.subject_id = p_subject AND o.event_seq > p_seq LIMIT 1) IS NOT NULL;
END $$;
