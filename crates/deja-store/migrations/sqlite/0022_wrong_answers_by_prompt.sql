-- Whether a pair is there is asked with each feedback, by the thread that writes.
CREATE INDEX wrong_answers_by_prompt ON wrong_answers (project_id, asked);
