-- Who found the answer wrong, and the vector of what was asked: f16, little-endian; NULL where there is none.
ALTER TABLE wrong_answers ADD COLUMN source TEXT NOT NULL DEFAULT 'console';
ALTER TABLE wrong_answers ADD COLUMN embedder INTEGER REFERENCES embedders;
ALTER TABLE wrong_answers ADD COLUMN vector BLOB;

-- Whether an entry answers a prompt, as somebody said: the last word of each source.
CREATE TABLE labels (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BLOB    NOT NULL,
    entry      INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    source     TEXT    NOT NULL,
    asked_hash BLOB    NOT NULL,
    at         INTEGER NOT NULL,
    met        TEXT    NOT NULL,
    answers    INTEGER NOT NULL,
    similarity REAL    NOT NULL,
    asked      TEXT    NOT NULL,
    note       TEXT,
    UNIQUE (entry, source, asked_hash)
) STRICT;

CREATE INDEX labels_by_project ON labels (project_id, number);

-- What requests were answered with, or refused.
CREATE TABLE answered (
    project_id BLOB    NOT NULL,
    request    TEXT    NOT NULL,
    entry      INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    met        TEXT    NOT NULL,
    similarity REAL    NOT NULL,
    asked      TEXT    NOT NULL,
    UNIQUE (project_id, request)
) STRICT;

CREATE INDEX answered_by_entry ON answered (entry);
CREATE INDEX answered_by_age ON answered (project_id, at);

-- Entries that answer their own prompt only.
CREATE TABLE quarantine (
    entry      INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    project_id BLOB    NOT NULL,
    since      INTEGER NOT NULL
) STRICT;

CREATE INDEX quarantine_by_project ON quarantine (project_id, since);
