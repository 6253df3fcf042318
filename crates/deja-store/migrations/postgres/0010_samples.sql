-- oldest: 1
--
-- Samples of what was asked and what came near: of each band of similarity those with the smallest numbers, which are
-- random. The entry's own texts are not written again.
CREATE TABLE samples (
    project_id uuid     NOT NULL,
    band       smallint NOT NULL,
    sample_id  bigint   NOT NULL,
    entry_id   uuid     NOT NULL,
    at         bigint   NOT NULL,
    expires    bigint,
    similarity real     NOT NULL,
    met        text     NOT NULL,
    reason     text,
    score      real,
    asked      bytea    NOT NULL,
    PRIMARY KEY (project_id, band, sample_id),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

CREATE INDEX samples_by_entry ON samples (project_id, entry_id);
CREATE INDEX samples_by_expiry ON samples (expires) WHERE expires IS NOT NULL;
