-- Attempts without a completion of a subject whose journal has rolled: those of its last journal, those that were open when it began (its
-- row in journal_segments), and those without an event (`beside`). It reads by the key of events, because the index of attempts would read
-- all that the subject ever made.
CREATE OR REPLACE FUNCTION open_attempts(p_subject uuid) RETURNS TABLE (step_id text, attempt_id int, token bigint, started_at timestamptz, beside boolean) LANGUAGE plpgsql STABLE
SET enable_seqscan = off AS $$
DECLARE v_first bigint := (SELECT h.journal_first FROM subject_head h WHERE h.subject_id = p_subject);
BEGIN
  RETURN QUERY SELECT a.step, a.attempt, a.token, a.since, a.beside FROM (
      SELECT r.begun AS step, r.begun_attempt AS attempt, r.token, coalesce(r.begun_at, r.at) AS since, false AS beside FROM journal_rows r
      WHERE r.subject_id = p_subject AND r.seq >= coalesce(v_first, 1) AND coalesce(r.begun, '') <> ''
      UNION ALL
      SELECT o.step, o.attempt, o.token, o.since, false FROM journal_segments g
        CROSS JOIN LATERAL unnest(g.open_steps, g.open_attempts, g.open_tokens, g.open_since) AS o(step, attempt, token, since)
      WHERE g.subject_id = p_subject AND g.first_seq = v_first
      UNION ALL
      SELECT o.step_id, o.attempt_id, o.token, o.started_at, true FROM other_attempts o WHERE o.subject_id = p_subject) a
    WHERE (SELECT c.attempt_id FROM completion_rows c WHERE c.subject_id = p_subject AND c.step_id = a.step) IS NULL;
END $$;
