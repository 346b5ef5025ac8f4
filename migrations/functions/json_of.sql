-- A text as JSON, or null if it is none.
CREATE OR REPLACE FUNCTION json_of(p_text text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN p_text::json;
EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
  RETURN NULL;
END $$;
