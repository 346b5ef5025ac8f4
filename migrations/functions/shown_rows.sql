-- The rows that subjects from p_first to p_last show of themselves, in the form that show_rows takes: `airun verify` compares them with
-- the journals.
CREATE OR REPLACE FUNCTION shown_rows(p_first uuid, p_last uuid) RETURNS TABLE (subject_id uuid, tab text, id text, shown text) LANGUAGE sql STABLE AS $$
  SELECT g.project_id, 'goals', g.goal_id, (to_jsonb(g) - 'project_id' || jsonb_build_object('created_at', utc_text(g.created_at)))::text
    FROM goals g WHERE g.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.project_id, 'tasks', t.task_id, (to_jsonb(t) - 'project_id' || jsonb_build_object('updated_at', utc_text(t.updated_at)))::text
    FROM tasks t WHERE t.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT c.project_id, 'checkpoints', c.task_id, (to_jsonb(c) - 'project_id' || jsonb_build_object('timestamp', utc_text(c."timestamp")))::text
    FROM checkpoints c WHERE c.project_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT s.session_id, 'chat_session', s.session_id::text,
         (to_jsonb(s) - 'session_id' || jsonb_build_object('started_at', utc_text(s.started_at), 'ended_at', utc_text(s.ended_at)))::text
    FROM chat_session s WHERE s.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT a.session_id, 'ask_session', a.session_id::text, (to_jsonb(a) - 'session_id')::text FROM ask_session a WHERE a.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT t.session_id, 'chat_turn', t.turn_id::text, (to_jsonb(t) - 'session_id' || jsonb_build_object('created_at', utc_text(t.created_at)))::text
    FROM chat_turn t WHERE t.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'ask_prepared', p.exchange_id::text,
         (to_jsonb(p) - 'session_id' || jsonb_build_object('prepared_at', utc_text(p.prepared_at), 'deadline', utc_text(p.deadline)))::text
    FROM ask_prepared p WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT o.session_id, 'ask_outcome', o.exchange_id::text, (to_jsonb(o) - 'session_id' || jsonb_build_object('ended_at', utc_text(o.ended_at)))::text
    FROM ask_outcome o WHERE o.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT p.session_id, 'context_artifact_ref', r.ref_id::text, (to_jsonb(r) || jsonb_build_object('observed_at', utc_text(r.observed_at)))::text
    FROM context_artifact_ref r JOIN ask_prepared p ON p.exchange_id = r.exchange_id WHERE p.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT d.session_id, 'driftwatch', d.driftwatch_id,
         (to_jsonb(d) - 'session_id' || jsonb_build_object('opened_at', utc_text(d.opened_at), 'closed_at', utc_text(d.closed_at)))::text
    FROM driftwatch d WHERE d.session_id BETWEEN p_first AND p_last
  UNION ALL
  SELECT f.subject_id, 'ledger_fact', f.ledger_id,
         (to_jsonb(f) - 'subject_id' || jsonb_build_object('proposed_at', utc_text(f.proposed_at), 'decided_at', utc_text(f.decided_at)))::text
    FROM ledger_fact f WHERE f.subject_id BETWEEN p_first AND p_last
$$;
