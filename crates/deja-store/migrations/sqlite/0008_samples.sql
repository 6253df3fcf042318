-- Samples of what was asked and what came near: of each band of similarity those with the smallest numbers, which are
-- random. The entry's own texts are not written again.
CREATE TABLE samples (
    project_id BLOB    NOT NULL REFERENCES projects ON DELETE CASCADE,
    band       INTEGER NOT NULL,
    sample_id  INTEGER NOT NULL,
    entry      INTEGER NOT NULL REFERENCES entries ON DELETE CASCADE,
    at         INTEGER NOT NULL,
    expires    INTEGER,
    similarity REAL    NOT NULL,
    met        TEXT    NOT NULL,
    reason     TEXT,
    score      REAL,
    asked      TEXT    NOT NULL,
    PRIMARY KEY (project_id, band, sample_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX samples_by_entry ON samples (entry);
CREATE INDEX samples_by_expiry ON samples (expires) WHERE expires IS NOT NULL;
