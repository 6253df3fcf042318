-- oldest: 1
--
-- The labels of an entry that is in quarantine already are not counted: the more of them there are, the longer that takes, and
-- each call holds a connection meanwhile.
CREATE OR REPLACE FUNCTION keep_label(
    of_project uuid, of_entry uuid, said_at bigint, said_by text, how_met text, right_answer boolean, prompt_asked bytea,
    how_similar real, noted bytea, made_by text, made halfvec, enough integer, counted_from bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hash CONSTANT bytea := sha256(prompt_asked);
    prompt_matched bytea;
    model_matched bytea;
BEGIN
    SELECT e.prompt, e.model INTO prompt_matched, model_matched FROM entries e
    WHERE e.project_id = of_project AND e.entry_id = of_entry FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    DELETE FROM labels l
    WHERE l.project_id = of_project AND l.entry_id = of_entry AND l.source = said_by AND l.asked_hash = hash;
    INSERT INTO labels (project_id, entry_id, source, asked_hash, at, met, answers, similarity, asked, note)
    VALUES (of_project, of_entry, said_by, hash, said_at, how_met, right_answer, how_similar, prompt_asked, noted);
    IF said_by = 'judge' OR NOT (right_answer OR how_met = 'served') THEN RETURN 'kept'; END IF;

    DELETE FROM wrong_answers w
    WHERE w.project_id = of_project AND w.asked_hash = hash AND w.matched_hash = sha256(prompt_matched)
          AND w.source = said_by;
    IF right_answer THEN
        RETURN CASE WHEN FOUND THEN 'allowed' ELSE 'kept' END;
    END IF;
    INSERT INTO wrong_answers (project_id, at, asked, matched, similarity, model, source, embedder, vector)
    VALUES (of_project, said_at, prompt_asked, prompt_matched, how_similar, model_matched, said_by, made_by, made);

    IF EXISTS (SELECT FROM quarantine q WHERE q.project_id = of_project AND q.entry_id = of_entry) THEN
        RETURN 'forbidden';
    END IF;
    INSERT INTO quarantine (project_id, entry_id, since)
    SELECT of_project, of_entry, said_at
    WHERE (SELECT count(DISTINCT l.asked_hash) FROM labels l
           WHERE l.project_id = of_project AND l.entry_id = of_entry AND l.source <> 'judge' AND l.met = 'served'
                 AND NOT l.answers AND l.at > counted_from) >= enough
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'quarantined' ELSE 'forbidden' END;
END
$$;
