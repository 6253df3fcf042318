-- Members of projects: operators and their ranks. Until now each member of deja worked in all projects, and goes on to.
CREATE TABLE members (
    project_id  BLOB NOT NULL REFERENCES projects ON DELETE CASCADE,
    operator_id BLOB NOT NULL REFERENCES operators ON DELETE CASCADE,
    rank        TEXT NOT NULL,
    PRIMARY KEY (project_id, operator_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_by_operator ON members (operator_id);

INSERT INTO members (project_id, operator_id, rank)
SELECT project_id, operator_id, 'editor' FROM projects, operators WHERE role = 'member';
