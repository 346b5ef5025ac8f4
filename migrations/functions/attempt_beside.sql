-- p_attempt, if this attempt of the step has no event of its own (other_attempts, past_attempts) and the step has no completion without
-- one; else null. The commit statement asks when the attempt that it completes is in no event of the journal (invariant 3: a completion
-- names an attempt that exists).
CREATE OR REPLACE FUNCTION attempt_beside(p_subject uuid, p_step text, p_attempt int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(
    (SELECT r.attempt_id FROM other_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL),
    (SELECT r.attempt_id FROM past_attempts r
     WHERE r.subject_id = p_subject AND r.step_id = p_step AND r.attempt_id = p_attempt
       AND (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = p_subject AND c.step_id = p_step) IS NULL));
END $$;
