-- migrate:up
-- Inputs that hold no template are not journaled with each attempt: they stand in the definition of the first event, and every attempt sends them
-- (docs/events.md). The view finds them there; what a name holds that step ids escape is escaped as they do.
SET LOCAL ROLE acl_owner;

CREATE OR REPLACE VIEW step_inputs AS
SELECT said.subject_id, said.step_id, min(said.inputs) AS inputs
FROM (
  SELECT e.subject_id, replace(replace(substr(split_part(op ->> 'path', '/', 2), 6), '~1', '/'), '~0', '~') AS step_id,
         coalesce(op #>> '{value,call,inputs}', op #>> '{value,inputs}') AS inputs
  FROM event_rows e, json_array_elements(e.payload::json -> 'state_delta') op
  WHERE e.type IN ('step.started', 'step.dispatched', 'step.completed', 'workflow.started')
    AND (op ->> 'path' ~ '^/step:[^/]*$' AND op #> '{value,call,inputs}' IS NOT NULL OR op ->> 'path' ~ '^/step:[^/]*/call$' AND op #> '{value,inputs}' IS NOT NULL)
  UNION ALL
  SELECT e.subject_id,
         replace(replace(replace(replace(replace(replace(replace(step ->> 'name', '%', '%25'), '/', '%2F'), '[', '%5B'), ']', '%5D'), '#', '%23'), ':', '%3A'), '*', '%2A'),
         step ->> 'inputs'
  FROM event_rows e, json_array_elements(e.payload::json -> 'state_delta') op, json_array_elements(op #> '{value,steps}') step
  WHERE e.seq = 1 AND e.type = 'workflow.created' AND op ->> 'path' = '/spec' AND step ->> 'inputs' IS NOT NULL AND step ->> 'inputs' NOT LIKE '%{{%') said
GROUP BY said.subject_id, said.step_id;

RESET ROLE;

-- migrate:down
DO $$ BEGIN RAISE EXCEPTION 'migrations go forward only: restore a backup, or upgrade (docs/operations.md)'; END $$;
