-- oldest: 1
--
-- Members of projects: operators and their ranks. Until now each member of deja worked in all projects, and goes on to.
-- What an older replica makes while it still runs has no members but the owners of deja.
CREATE TABLE members (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
    rank        text NOT NULL,
    PRIMARY KEY (project_id, operator_id)
);

CREATE INDEX members_by_operator ON members (operator_id);

INSERT INTO members (project_id, operator_id, rank)
SELECT project_id, operator_id, 'editor' FROM projects, operators WHERE role = 'member';
