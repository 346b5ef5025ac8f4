-- Makes fencing tokens, and is the only function that does: for each old token (0: none yet) one that is greater, in the current epoch and
-- below 2^53.
CREATE OR REPLACE FUNCTION mint_tokens(p_old bigint[]) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_first bigint := (current_epoch() << 32) + 1;
  v_new bigint[];
BEGIN
  SELECT array_agg(greatest(old + 1, v_first) ORDER BY n) INTO v_new FROM unnest(p_old) WITH ORDINALITY AS o(old, n);
  IF 9007199254740992 <= ANY (v_new) THEN
    RAISE EXCEPTION 'fencing tokens are used up (2^53): %', v_new USING ERRCODE = 'AC006';
  END IF;
  RETURN v_new;
END $$;
