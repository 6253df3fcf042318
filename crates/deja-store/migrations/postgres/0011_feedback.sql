-- oldest: 1
--
-- Who found the answer wrong, and the vector of what was asked; NULL where there is none. Programs of older versions
-- know the pairs alone, and no quarantine.
ALTER TABLE wrong_answers
    ADD COLUMN source text NOT NULL DEFAULT 'console',
    ADD COLUMN embedder text COLLATE "C",
    ADD COLUMN vector halfvec;
ALTER TABLE wrong_answers ALTER COLUMN vector SET STORAGE MAIN;

-- Whether an entry answers a prompt, as somebody said: the last word of each source.
CREATE TABLE labels (
    project_id uuid    NOT NULL,
    number     bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    entry_id   uuid    NOT NULL,
    source     text    COLLATE "C" NOT NULL,
    asked_hash bytea   NOT NULL,
    at         bigint  NOT NULL,
    met        text    NOT NULL,
    answers    boolean NOT NULL,
    similarity real    NOT NULL,
    asked      bytea   NOT NULL,
    note       bytea,
    PRIMARY KEY (project_id, number),
    UNIQUE (project_id, entry_id, source, asked_hash),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

-- What requests were answered with, or refused.
CREATE TABLE answered (
    project_id uuid   NOT NULL,
    request    text   COLLATE "C" NOT NULL,
    entry_id   uuid   NOT NULL,
    at         bigint NOT NULL,
    met        text   NOT NULL,
    similarity real   NOT NULL,
    asked      bytea  NOT NULL,
    PRIMARY KEY (project_id, request),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

CREATE INDEX answered_by_entry ON answered (project_id, entry_id);
CREATE INDEX answered_by_age ON answered (project_id, at);

-- Entries that answer their own prompt only.
CREATE TABLE quarantine (
    project_id uuid   NOT NULL,
    entry_id   uuid   NOT NULL,
    since      bigint NOT NULL,
    PRIMARY KEY (project_id, entry_id),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

-- As buckets, for feedback.
CREATE UNLOGGED TABLE feedback_buckets (
    project_id uuid    NOT NULL PRIMARY KEY,
    full_at    bigint  NOT NULL,
    seen       bigint  NOT NULL,
    allowed    boolean NOT NULL
) WITH (fillfactor = 50);

-- Keeps a label and what follows from it, and says what came of it: 'kept', 'forbidden', 'quarantined', 'allowed'; NULL
-- where there is no such entry. The entry's row is locked first, and each query sees what was committed before it: so of
-- labels that come at once, the third sees the two others.
CREATE FUNCTION keep_label(
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

    INSERT INTO quarantine (project_id, entry_id, since)
    SELECT of_project, of_entry, said_at
    WHERE (SELECT count(DISTINCT l.asked_hash) FROM labels l
           WHERE l.project_id = of_project AND l.entry_id = of_entry AND l.source <> 'judge' AND l.met = 'served'
                 AND NOT l.answers AND l.at > counted_from) >= enough
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'quarantined' ELSE 'forbidden' END;
END
$$;
