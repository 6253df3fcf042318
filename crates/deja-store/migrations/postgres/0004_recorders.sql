-- oldest: 1
--
-- When the last batch of counts of each process was taken: a batch that is sent again, because the answer to its
-- commit was lost, is not counted again.
CREATE TABLE recorders (
    recorder_id uuid   NOT NULL PRIMARY KEY,
    taken       bigint NOT NULL
) WITH (fillfactor = 50);
