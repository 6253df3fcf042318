-- The people of the console.
CREATE TABLE operators (
    operator_id BLOB    NOT NULL PRIMARY KEY,
    email       TEXT    NOT NULL UNIQUE,
    role        TEXT    NOT NULL,
    password    TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    disabled    INTEGER
) STRICT, WITHOUT ROWID;

-- One-time links. With a role it makes an operator, with an operator it sets that one's password.
CREATE TABLE invites (
    token       BLOB    NOT NULL PRIMARY KEY,
    role        TEXT,
    email       TEXT,
    operator_id BLOB,
    created_by  BLOB,
    created     INTEGER NOT NULL,
    expires     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    token       BLOB    NOT NULL PRIMARY KEY,
    operator_id BLOB    NOT NULL REFERENCES operators ON DELETE CASCADE,
    created     INTEGER NOT NULL,
    last_seen   INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    user_agent  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_operator ON sessions (operator_id, last_seen);

-- The audit log. Refers to nothing: a row outlives what it is about.
CREATE TABLE changes (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor_id   BLOB,
    actor      TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    project_id BLOB,
    subject    TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;

CREATE INDEX changes_by_project ON changes (project_id, number);

CREATE TABLE wrong_answers (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    asked      TEXT    NOT NULL,
    matched    TEXT    NOT NULL,
    similarity REAL    NOT NULL,
    model      TEXT    NOT NULL
) STRICT;

CREATE INDEX wrong_answers_by_project ON wrong_answers (project_id, number);

-- For browsing, newest first, and for the list of models.
CREATE INDEX entries_by_age ON entries (project_id, created, entry_id);
CREATE INDEX entries_by_model ON entries (project_id, model);

-- What hits saved, by entry. A table of its own, because a column behind the texts would be slow to reach.
CREATE TABLE savings (
    entry      INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    project_id BLOB    NOT NULL,
    entry_id   BLOB    NOT NULL,
    saved      INTEGER NOT NULL
) STRICT;

CREATE INDEX savings_by_amount ON savings (project_id, saved DESC, entry_id);

-- Sums by minute (step 60) and hour (step 3600), for every slice of a project's requests: dimensions says which
-- of key (1), model (2) and context (4) the slice gives; the others hold x'', '' and 0. period comes before them,
-- so that what is written together lies together. histograms: see Histograms::to_bytes in deja-core.
CREATE TABLE rollups (
    project_id          BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    step                INTEGER NOT NULL,
    dimensions          INTEGER NOT NULL,
    period              INTEGER NOT NULL,
    key_id              BLOB    NOT NULL,
    model               TEXT    NOT NULL,
    context             INTEGER NOT NULL,
    exact_hits          INTEGER NOT NULL,
    semantic_hits       INTEGER NOT NULL,
    misses              INTEGER NOT NULL,
    errors              INTEGER NOT NULL,
    refused             INTEGER NOT NULL,
    rate_limited        INTEGER NOT NULL,
    input_tokens        INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    saved_input_tokens  INTEGER NOT NULL,
    saved_output_tokens INTEGER NOT NULL,
    saved               INTEGER NOT NULL,
    spent               INTEGER NOT NULL,
    histograms          BLOB    NOT NULL,
    PRIMARY KEY (project_id, step, dimensions, period, key_id, model, context)
) STRICT, WITHOUT ROWID;

INSERT INTO rollups
SELECT project_id, 3600, 0, hour, x'', '', 0, sum(exact_hits), sum(semantic_hits), sum(misses), sum(errors),
       0, 0, 0, 0, 0, 0, sum(saved), sum(spent), x''
FROM usage GROUP BY project_id, hour;

INSERT INTO rollups
SELECT project_id, 3600, 2, hour, x'', model, 0, exact_hits, semantic_hits, misses, errors,
       0, 0, 0, 0, 0, 0, saved, spent, x''
FROM usage;

DROP TABLE usage;

-- The first words of contexts, which the rollups name by number; hour is the last one they were seen in.
CREATE TABLE context_labels (
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    context    INTEGER NOT NULL,
    label      TEXT    NOT NULL,
    hour       INTEGER NOT NULL,
    PRIMARY KEY (project_id, context)
) STRICT, WITHOUT ROWID;
