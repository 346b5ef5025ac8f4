-- Turns outbox rows of topic post/KIND into inbox rows of the subject that their key names (shared/kernel/post.h): row and input in one
-- transaction, so each is delivered exactly once, in the order of the rows. A post waits while the subject that it is for is still to be
-- created. One answer row a post; dropped: the subject is closed or does not exist.
CREATE OR REPLACE FUNCTION deliver_posts(p_max int) RETURNS TABLE (to_subject uuid, holder uuid, queue text, dropped boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
  v_payload text;
BEGIN
  FOR r IN SELECT o.* FROM outbox o WHERE o.topic LIKE 'post/%'
             AND NOT EXISTS (SELECT FROM outbox c WHERE c.topic LIKE 'create/%' AND c.key = o.key) ORDER BY o.outbox_id LIMIT p_max FOR UPDATE LOOP
    to_subject := r.key::uuid;
    -- hold: post_locked
    SELECT json_build_object('from', r.subject_id, 'head_seq', h.head_seq, 'state_root', encode(h.state_root, 'hex'), 'said', r.payload::json)::text
      INTO v_payload FROM subject_head h WHERE h.subject_id = r.subject_id;
    BEGIN
      SELECT p.holder, p.queue, false INTO holder, queue, dropped
        FROM post_inbox(to_subject, gen_random_uuid(), substr(r.topic, 6), v_payload, 'post:' || r.outbox_id, sha256(convert_to(v_payload, 'UTF8'))) p;
    EXCEPTION WHEN SQLSTATE 'AC002' OR SQLSTATE 'AC003' THEN
      holder := NULL;
      queue := NULL;
      dropped := true;
    END;
    DELETE FROM outbox o WHERE o.outbox_id = r.outbox_id;
    RETURN NEXT;
  END LOOP;
END $$;
