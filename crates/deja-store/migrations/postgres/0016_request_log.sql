-- oldest: 1
--
-- The newest requests of each project. A row has no foreign key to its entry: it stays when the entry goes.
CREATE TABLE request_log (
    project_id uuid    NOT NULL REFERENCES projects ON DELETE CASCADE,
    number     bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    at         bigint  NOT NULL,
    request    text    COLLATE "C",
    key_id     uuid    NOT NULL,
    surface    text    COLLATE "C" NOT NULL,
    model      bytea   NOT NULL,
    context    bigint  NOT NULL,
    asked_hash bytea,
    asked      bytea,
    outcome    text    COLLATE "C" NOT NULL,
    cause      text,
    joined     boolean NOT NULL,
    entry_id   uuid,
    similarity real,
    met        text    COLLATE "C",
    reason     text,
    latency    bigint,
    saved      bigint  NOT NULL,
    PRIMARY KEY (project_id, number)
);

CREATE INDEX request_log_by_entry ON request_log (project_id, entry_id, number) WHERE entry_id IS NOT NULL;
CREATE INDEX request_log_by_age ON request_log (at);
CREATE INDEX request_log_texts ON request_log (project_id, at) WHERE asked IS NOT NULL;
