-- The trigger of tables whose rows are written once, and of all tables against TRUNCATE.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: %', TG_OP, TG_TABLE_NAME,
    CASE TG_OP WHEN 'TRUNCATE' THEN 'no table is emptied as a whole' ELSE 'its rows are written once' END USING ERRCODE = '42501';
END $$;
