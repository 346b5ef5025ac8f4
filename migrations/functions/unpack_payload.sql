-- A packed payload as it was written (shared/postgres/packed_payload.h packs it): one byte stands for each of these phrases, the root and
-- what the row's columns say. Rows depend on it for ever: a phrase is never changed.
CREATE OR REPLACE FUNCTION unpack_payload(p_payload text, p_root bytea, p_at timestamptz, p_completed text, p_begun text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
         replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(p_payload
    , chr(5), '{"also":[{"attempt":1,"step_id":"')
    , chr(6), '","type":"step.started"}],')
    , chr(7), '"attempt":1,"state_delta":[{"op":"add","path":"/step:')
    , chr(8), '","value":{"attempts":1,"completed_at":')
    , chr(9), ',"order":')
    , chr(10), ',"started_at":')
    , chr(11), ',"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":')
    , chr(12), ',"open":["')
    , chr(13), '"]}},{"op":"add","path":"/ready~10~10","value":')
    , chr(14), '},{"op":"add","path":"/var:')
    , chr(15), '","value":')
    , chr(16), '},{"op":"add","path":"/step:')
    , chr(17), '","value":{"attempt":1,"started_at":')
    , chr(18), ',"status":"RUNNING"}}],"state_root":"')
    , chr(19), '","step_id":"')
    , chr(20), '},{"op":"add","path":"/')
    , chr(21), '"state_delta":[{"op":"add","path":"/')
    , chr(22), '],"state_root":"')
    , chr(23), ',"status":"')
    , chr(24), '},{"op":"remove","path":"/')
    , chr(25), '"type":"step.')
    , chr(26), '"}},{"op":"add","path":"/ready~10~10","value":')
    , chr(27), 'run/completed_at')
    , chr(28), '"outputs')
    , chr(29), '"error":"')
    , chr(30), '"attempt":')
    , chr(4), coalesce(p_begun, ''))
    , chr(3), coalesce(p_completed, ''))
    , chr(2), (extract(epoch FROM p_at) * 1000000)::bigint::text)
    , chr(1), encode(p_root, 'hex'))
$$;
