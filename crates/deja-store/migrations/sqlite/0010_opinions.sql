-- What a project's model said of pairs of prompts, and what asking it cost. Days are counted from the epoch.
CREATE TABLE opinions (
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    pair       BLOB    NOT NULL,
    same       INTEGER NOT NULL,
    day        INTEGER NOT NULL,
    PRIMARY KEY (project_id, pair)
) STRICT, WITHOUT ROWID;

CREATE INDEX opinions_by_day ON opinions (day);

CREATE TABLE questions (
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    day        INTEGER NOT NULL,
    asked      INTEGER NOT NULL,
    cost       INTEGER NOT NULL,
    PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX questions_by_day ON questions (day);
