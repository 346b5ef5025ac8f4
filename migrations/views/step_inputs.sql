-- The inputs of steps as the journal says them. They are journaled with the event that promises an attempt of an idempotent or
-- non-idempotent step, or with step.dispatched: the path of the operation names the step. Inputs that are constant stand in the
-- definition, in event 1. Pure and read steps have none.
-- reads: event_rows
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
GRANT SELECT ON step_inputs TO acl_service;
