-- oldest: 1
--
-- A pair of prompts that was marked is forbidden from now on, whoever marked it: programs of older versions write
-- the texts, and the database makes the hashes.
ALTER TABLE wrong_answers
    ADD COLUMN asked_hash bytea NOT NULL GENERATED ALWAYS AS (sha256(asked)) STORED,
    ADD COLUMN matched_hash bytea NOT NULL GENERATED ALWAYS AS (sha256(matched)) STORED;

CREATE INDEX wrong_answers_by_asked ON wrong_answers (project_id, asked_hash);
CREATE INDEX wrong_answers_by_matched ON wrong_answers (project_id, matched_hash);
