-- When the last batch of counts of each process was taken: a batch that is written again, because its writer did not
-- learn that it was, is not counted again.
CREATE TABLE recorders (
    recorder_id BLOB    NOT NULL PRIMARY KEY,
    taken       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
