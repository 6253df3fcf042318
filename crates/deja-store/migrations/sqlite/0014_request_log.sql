-- The newest requests of each project. A row has no foreign key to its entry: it stays when the entry goes.
CREATE TABLE request_log (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    request    TEXT,
    key_id     BLOB    NOT NULL,
    surface    TEXT    NOT NULL,
    model      TEXT    NOT NULL,
    context    INTEGER NOT NULL,
    asked_hash BLOB,
    asked      TEXT,
    outcome    TEXT    NOT NULL,
    cause      TEXT,
    joined     INTEGER NOT NULL,
    entry_id   BLOB,
    similarity REAL,
    met        TEXT,
    reason     TEXT,
    latency    INTEGER,
    saved      INTEGER NOT NULL
) STRICT;

CREATE INDEX request_log_by_project ON request_log (project_id, number);
CREATE INDEX request_log_by_entry ON request_log (project_id, entry_id, number) WHERE entry_id IS NOT NULL;
CREATE INDEX request_log_by_age ON request_log (at);
CREATE INDEX request_log_texts ON request_log (project_id, at) WHERE asked IS NOT NULL;
