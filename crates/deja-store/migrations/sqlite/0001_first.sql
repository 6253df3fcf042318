-- Tenants. entry_count is kept by the triggers below, so that an insert need not count.
CREATE TABLE projects (
    project_id       BLOB    NOT NULL PRIMARY KEY,
    slug             TEXT    NOT NULL UNIQUE,
    name             TEXT    NOT NULL,
    tier             TEXT    NOT NULL,
    quota_per_minute INTEGER,
    quota_burst      INTEGER,
    suspended        INTEGER NOT NULL,
    settings         TEXT    NOT NULL,
    created          INTEGER NOT NULL,
    entry_count      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    key_id     BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    shown      TEXT    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    models     TEXT,
    created    INTEGER NOT NULL,
    revoked    INTEGER,
    requests   INTEGER NOT NULL DEFAULT 0,
    last_used  INTEGER,
    PRIMARY KEY (project_id, key_id)
) STRICT, WITHOUT ROWID;

-- A context may be a whole system prompt, so it is written once and not with every entry.
CREATE TABLE scopes (
    scope      INTEGER PRIMARY KEY,
    project_id BLOB NOT NULL REFERENCES projects ON DELETE CASCADE,
    scope_key  BLOB NOT NULL,
    context    TEXT,
    UNIQUE (project_id, scope_key)
) STRICT;

-- Who makes vectors. Numbers, because every vector names one.
CREATE TABLE embedders (
    embedder INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE
) STRICT;

-- The number of an entry is never given twice (AUTOINCREMENT): caches in memory go by it.
CREATE TABLE entries (
    entry            INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id       BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    entry_id         BLOB    NOT NULL,
    scope            INTEGER NOT NULL REFERENCES scopes,
    prompt_hash      BLOB    NOT NULL,
    created          INTEGER NOT NULL,
    expires          INTEGER,
    last_used        INTEGER NOT NULL,
    hits             INTEGER NOT NULL DEFAULT 0,
    input_tokens     INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    tokens_estimated INTEGER NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
    served_model     TEXT,
    prompt           TEXT    NOT NULL,
    answer           TEXT    NOT NULL,
    UNIQUE (project_id, entry_id),
    UNIQUE (scope, prompt_hash)
) STRICT;

CREATE INDEX entries_by_use ON entries (project_id, last_used, entry_id);
CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL;

-- What the index in memory is rebuilt from at start, apart from the texts, so that a start reads no text.
-- One row an entry; vector is f16, little-endian, NULL where there is none. embedder is NULL where nobody
-- has tried yet; an embedder without a vector found the prompt too long.
CREATE TABLE vectors (
    entry       INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    project_id  BLOB    NOT NULL,
    entry_id    BLOB    NOT NULL,
    scope       INTEGER NOT NULL,
    prompt_hash BLOB    NOT NULL,
    created     INTEGER NOT NULL,
    expires     INTEGER,
    embedder    INTEGER REFERENCES embedders,
    vector      BLOB
) STRICT;

CREATE INDEX vectors_by_embedder ON vectors (embedder, created, entry_id);

CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    UPDATE projects SET entry_count = entry_count + 1 WHERE project_id = NEW.project_id;
END;

CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
    UPDATE projects SET entry_count = entry_count - 1 WHERE project_id = OLD.project_id;
    DELETE FROM scopes
    WHERE scope = OLD.scope AND NOT EXISTS (SELECT 1 FROM entries WHERE scope = OLD.scope);
END;

CREATE TABLE usage (
    project_id    BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    hour          INTEGER NOT NULL,
    model         TEXT    NOT NULL,
    exact_hits    INTEGER NOT NULL,
    semantic_hits INTEGER NOT NULL,
    misses        INTEGER NOT NULL,
    errors        INTEGER NOT NULL,
    saved         INTEGER NOT NULL,
    spent         INTEGER NOT NULL,
    PRIMARY KEY (project_id, hour, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE providers (
    project_id    BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    provider_id   BLOB    NOT NULL,
    base_url      TEXT    NOT NULL,
    sealed_secret BLOB,
    allow_private INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    models        TEXT    NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE provider_models (
    project_id BLOB NOT NULL,
    model      TEXT NOT NULL,
    provider   TEXT NOT NULL,
    PRIMARY KEY (project_id, model),
    FOREIGN KEY (project_id, provider) REFERENCES providers (project_id, name) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Single values: the sealed key check, the probe that /readyz writes.
CREATE TABLE facts (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
