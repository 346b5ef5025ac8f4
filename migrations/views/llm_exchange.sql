-- Document 004's table of exchanges: what was prepared together with its recorded outcome.
CREATE OR REPLACE VIEW llm_exchange AS
SELECT p.exchange_id, p.session_id, p.turn_user_id, o.turn_aurora_id, p.context_bundle_hash, p.context_bundle_json, p.prompt_hash, p.prompt_compiled,
       o.response_hash, o.response_sanitized, o.validator_summary, o.ended_at AS created_at
  FROM ask_prepared p JOIN ask_outcome o ON o.exchange_id = p.exchange_id WHERE o.status = 'RECORDED';
GRANT SELECT ON llm_exchange TO acl_service;
