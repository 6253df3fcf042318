-- oldest: 1
--
-- What a project's model said of pairs of prompts, and what asking it cost. Days are counted from the epoch.
CREATE TABLE opinions (
    project_id uuid    NOT NULL REFERENCES projects ON DELETE CASCADE,
    pair       bytea   NOT NULL,
    same       boolean NOT NULL,
    day        bigint  NOT NULL,
    PRIMARY KEY (project_id, pair)
);

CREATE INDEX opinions_by_day ON opinions (day);

CREATE TABLE questions (
    project_id uuid   NOT NULL REFERENCES projects ON DELETE CASCADE,
    day        bigint NOT NULL,
    asked      bigint NOT NULL,
    cost       bigint NOT NULL,
    PRIMARY KEY (project_id, day)
);

CREATE INDEX questions_by_day ON questions (day);
