-- The outputs of a step from the payload of the event that completes it: its own `outputs`, else what its delta wrote to the variable of
-- the step's name.
CREATE OR REPLACE FUNCTION step_outputs(p_payload text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(p_payload::json ->> 'outputs',
    (SELECT op ->> 'value' FROM json_array_elements(p_payload::json -> 'state_delta') op
     WHERE op ->> 'path' = '/var:' || replace(replace(coalesce(p_payload::json ->> 'step_name', p_payload::json ->> 'step_id'), '~', '~0'), '/', '~1')
     LIMIT 1))
$$;
