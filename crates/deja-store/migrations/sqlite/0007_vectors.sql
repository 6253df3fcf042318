-- What the index in memory knows of an entry apart from its vectors, so that a start reads no text.
CREATE TABLE heads (
    entry       INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    project_id  BLOB    NOT NULL,
    entry_id    BLOB    NOT NULL,
    scope       INTEGER NOT NULL,
    prompt_hash BLOB    NOT NULL,
    expires     INTEGER
) STRICT;

INSERT INTO heads
SELECT entry, project_id, entry_id, scope, prompt_hash, expires FROM vectors ORDER BY entry;

ALTER TABLE vectors RENAME TO single_vectors;

-- The vectors of an entry, one for each embedder that was asked: f16, little-endian; NULL where the prompt was too
-- long for that one.
CREATE TABLE vectors (
    entry    INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    embedder INTEGER NOT NULL REFERENCES embedders,
    vector   BLOB,
    UNIQUE (entry, embedder)
) STRICT;

INSERT INTO vectors
SELECT entry, embedder, vector FROM single_vectors WHERE embedder IS NOT NULL ORDER BY entry;

DROP TABLE single_vectors;
