-- oldest: 1
--
-- An entry may have a vector of each embedder, and none has no row any more. Programs of older versions still write
-- a row without an embedder for one that is too long: it means nothing now. While they run, they take an entry with
-- vectors of two embedders for one to embed again, and fail at it; nothing is lost. The index they use for that goes
-- with the next version.
CREATE UNIQUE INDEX vectors_of_entry ON vectors (project_id, entry_id, embedder);

-- Which process makes a vector until when, and which entries it could not embed. Lost with a crash of the database,
-- which costs a second try.
CREATE UNLOGGED TABLE stale_claims (
    project_id uuid    NOT NULL,
    entry_id   uuid    NOT NULL,
    embedder   text    COLLATE "C" NOT NULL,
    until      bigint  NOT NULL,
    failed     boolean NOT NULL,
    PRIMARY KEY (project_id, entry_id, embedder),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

-- Last, because it locks out readers, and then not for long.
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey;
