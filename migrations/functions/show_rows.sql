-- Writes and removes rows that a kind shows of itself (ShownRow of shared/kernel/command.h), in the commit's transaction: by table and id,
-- columns as a JSON object; without one the row goes. v_owner: the column that holds the subject; v_key: the column of the row's id;
-- v_type: its type.
CREATE OR REPLACE FUNCTION show_rows(p_subject uuid, p_table text[], p_id text[], p_row text[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_known constant text[] := '{goals,tasks,checkpoints,chat_session,chat_turn,ask_prepared,ask_outcome,context_artifact_ref,driftwatch,ledger_fact,ask_session}';
  v_owner constant text[] := '{project_id,project_id,project_id,session_id,session_id,session_id,session_id,NULL,session_id,subject_id,session_id}';
  v_key constant text[] := '{goal_id,task_id,task_id,session_id,turn_id,exchange_id,exchange_id,ref_id,driftwatch_id,ledger_id,session_id}';
  v_type constant text[] := '{text,text,text,uuid,uuid,uuid,uuid,uuid,text,text,uuid}';
  v_table text;
  n int;
BEGIN
  FOREACH v_table IN ARRAY ARRAY(SELECT DISTINCT t FROM unnest(p_table) AS t) LOOP
    n := array_position(v_known, v_table);
    IF n IS NULL THEN
      RAISE EXCEPTION 'there is no table % to show rows in', v_table USING ERRCODE = 'AC006';
    END IF;
    EXECUTE format('DELETE FROM %I g USING unnest($2, $3) AS r(tab, id) WHERE r.tab = $4 AND %s g.%I = r.id::%s AND $1 IS NOT NULL', v_table,
                   CASE WHEN v_owner[n] IS NULL THEN '' ELSE format('g.%I = $1 AND', v_owner[n]) END, v_key[n], v_type[n])
      USING p_subject, p_table, p_id, v_table;
    EXECUTE format('INSERT INTO %1$I SELECT g.* FROM unnest($2, $3) AS r(tab, shown)
      CROSS JOIN LATERAL jsonb_populate_record(NULL::%1$I, r.shown::jsonb || $5) g WHERE r.tab = $4 AND r.shown IS NOT NULL AND $1 IS NOT NULL', v_table)
      USING p_subject, p_table, p_row, v_table, CASE WHEN v_owner[n] IS NULL THEN '{}'::jsonb ELSE jsonb_build_object(v_owner[n], p_subject) END;
  END LOOP;
END $$;
