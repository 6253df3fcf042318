-- oldest: 1
--
-- The number above is the oldest schema version whose programs still work with this one (expand and contract).
--
-- project_id leads every key, so that tables can be distributed by it. Texts that clients and providers send
-- are bytea, because they may hold NUL, which text cannot; times are nanoseconds since the epoch.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE projects (
    project_id       uuid    NOT NULL PRIMARY KEY,
    slug             text    COLLATE "C" NOT NULL UNIQUE,
    name             text    NOT NULL,
    tier             text    NOT NULL,
    quota_per_minute integer,
    quota_burst      integer,
    suspended        boolean NOT NULL,
    settings         text    NOT NULL,
    created          bigint  NOT NULL
);

-- A request brings a hash and nothing else: that index alone does not begin with the project.
CREATE TABLE keys (
    project_id uuid   NOT NULL REFERENCES projects ON DELETE CASCADE,
    key_id     uuid   NOT NULL,
    name       text   NOT NULL,
    shown      text   NOT NULL,
    hash       bytea  NOT NULL UNIQUE,
    models     text,
    created    bigint NOT NULL,
    revoked    bigint,
    requests   bigint NOT NULL DEFAULT 0,
    last_used  bigint,
    PRIMARY KEY (project_id, key_id)
);

CREATE INDEX keys_by_shown ON keys (shown);
CREATE INDEX keys_by_id ON keys (key_id);

-- Texts, and what changes with a hit. Vectors are a table of their own: a hit must not write them again.
CREATE TABLE entries (
    project_id       uuid    NOT NULL REFERENCES projects ON DELETE CASCADE,
    entry_id         uuid    NOT NULL,
    scope_key        bytea   NOT NULL,
    prompt_hash      bytea   NOT NULL,
    created          bigint  NOT NULL,
    expires          bigint,
    last_used        bigint  NOT NULL,
    hits             bigint  NOT NULL DEFAULT 0,
    saved            bigint  NOT NULL DEFAULT 0,
    input_tokens     bigint  NOT NULL,
    output_tokens    bigint  NOT NULL,
    tokens_estimated boolean NOT NULL,
    provider         text    NOT NULL,
    model            bytea   NOT NULL,
    served_model     bytea,
    context          bytea,
    prompt           bytea   NOT NULL,
    answer           bytea   NOT NULL,
    PRIMARY KEY (project_id, entry_id),
    UNIQUE (project_id, scope_key, prompt_hash)
);

CREATE INDEX entries_by_use ON entries (project_id, last_used, entry_id);
CREATE INDEX entries_by_age ON entries (project_id, created, entry_id);
CREATE INDEX entries_by_saving ON entries (project_id, saved DESC, entry_id) WHERE hits > 0;
CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL;

-- One row an entry. embedder is NULL where nobody has tried yet; an embedder without a vector found the prompt
-- too long. The column has no fixed dimension: an index for each one in use is made when it pays.
CREATE TABLE vectors (
    project_id uuid    NOT NULL,
    entry_id   uuid    NOT NULL,
    scope_key  bytea   NOT NULL,
    created    bigint  NOT NULL,
    expires    bigint,
    embedder   text    COLLATE "C",
    dimension  integer,
    vector     halfvec,
    PRIMARY KEY (project_id, entry_id),
    FOREIGN KEY (project_id, entry_id) REFERENCES entries ON DELETE CASCADE
);

-- MAIN: kept in the row wherever it fits, so that a scan does not look up each vector elsewhere.
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE MAIN;
CREATE INDEX vectors_by_scope ON vectors (project_id, scope_key);
CREATE INDEX vectors_by_embedder ON vectors (embedder, created, entry_id);

-- Entries a project has, in slots that are added up: writers of one project do not wait for each other.
CREATE TABLE entry_counts (
    project_id uuid     NOT NULL REFERENCES projects ON DELETE CASCADE,
    slot       smallint NOT NULL,
    entries    bigint   NOT NULL,
    PRIMARY KEY (project_id, slot)
) WITH (fillfactor = 50);

-- Which process asks a provider for which prompt, until when. Lost with a crash of the database, which costs a
-- second call at most.
CREATE UNLOGGED TABLE flights (
    project_id  uuid   NOT NULL,
    scope_key   bytea  NOT NULL,
    prompt_hash bytea  NOT NULL,
    owner       uuid   NOT NULL,
    until       bigint NOT NULL,
    PRIMARY KEY (project_id, scope_key, prompt_hash)
);

-- The rate limiter. Unlogged: a crash empties it, which gives each project one burst.
CREATE UNLOGGED TABLE buckets (
    project_id uuid    NOT NULL PRIMARY KEY,
    full_at    bigint  NOT NULL,
    seen       bigint  NOT NULL,
    allowed    boolean NOT NULL
) WITH (fillfactor = 50);

-- Sums by minute (step 60) and hour (step 3600), for every slice of a project's requests: dimensions says which
-- of key (1), model (2) and context (4) the slice gives; the others hold zeros, '' and 0. histograms are
-- buckets in use, each its number in the upper 16 bits and its count in the lower 48.
CREATE TABLE rollups (
    project_id          uuid     NOT NULL REFERENCES projects ON DELETE CASCADE,
    step                integer  NOT NULL,
    dimensions          smallint NOT NULL,
    period              bigint   NOT NULL,
    key_id              uuid     NOT NULL,
    model               bytea    NOT NULL,
    context             bigint   NOT NULL,
    exact_hits          bigint   NOT NULL,
    semantic_hits       bigint   NOT NULL,
    misses              bigint   NOT NULL,
    errors              bigint   NOT NULL,
    refused             bigint   NOT NULL,
    rate_limited        bigint   NOT NULL,
    input_tokens        bigint   NOT NULL,
    output_tokens       bigint   NOT NULL,
    saved_input_tokens  bigint   NOT NULL,
    saved_output_tokens bigint   NOT NULL,
    saved               bigint   NOT NULL,
    spent               bigint   NOT NULL,
    histograms          bigint[] NOT NULL,
    PRIMARY KEY (project_id, step, dimensions, period, key_id, model, context)
);

-- The first words of contexts, which the rollups name by number; hour is the last one they were seen in.
CREATE TABLE context_labels (
    project_id uuid   NOT NULL REFERENCES projects ON DELETE CASCADE,
    context    bigint NOT NULL,
    label      bytea  NOT NULL,
    hour       bigint NOT NULL,
    PRIMARY KEY (project_id, context)
);

CREATE TABLE wrong_answers (
    project_id uuid   NOT NULL REFERENCES projects ON DELETE CASCADE,
    number     bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    at         bigint NOT NULL,
    asked      bytea  NOT NULL,
    matched    bytea  NOT NULL,
    similarity real   NOT NULL,
    model      bytea  NOT NULL,
    PRIMARY KEY (project_id, number)
);

CREATE TABLE providers (
    project_id    uuid    NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          text    COLLATE "C" NOT NULL,
    provider_id   uuid    NOT NULL,
    base_url      text    NOT NULL,
    sealed_secret bytea,
    allow_private boolean NOT NULL,
    created       bigint  NOT NULL,
    models        text    NOT NULL,
    PRIMARY KEY (project_id, name)
);

CREATE TABLE provider_models (
    project_id uuid  NOT NULL,
    model      bytea NOT NULL,
    provider   text  COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, model),
    FOREIGN KEY (project_id, provider) REFERENCES providers (project_id, name) ON DELETE CASCADE
);

-- Single values: the sealed key check, the probe that /readyz writes.
CREATE TABLE facts (
    name  text  NOT NULL PRIMARY KEY,
    value bytea NOT NULL
);

-- The people of the console, their sessions and one-time links. Of no project.
CREATE TABLE operators (
    operator_id uuid   NOT NULL PRIMARY KEY,
    email       text   COLLATE "C" NOT NULL UNIQUE,
    role        text   NOT NULL,
    password    text   NOT NULL,
    created     bigint NOT NULL,
    disabled    bigint
);

-- With a role it makes an operator, with an operator it sets that one's password.
CREATE TABLE invites (
    token       bytea  NOT NULL PRIMARY KEY,
    role        text,
    email       text,
    operator_id uuid,
    created_by  uuid,
    created     bigint NOT NULL,
    expires     bigint NOT NULL
);

CREATE TABLE sessions (
    token       bytea  NOT NULL PRIMARY KEY,
    operator_id uuid   NOT NULL REFERENCES operators ON DELETE CASCADE,
    created     bigint NOT NULL,
    last_seen   bigint NOT NULL,
    expires     bigint NOT NULL,
    user_agent  text   NOT NULL
);

CREATE INDEX sessions_by_operator ON sessions (operator_id, last_seen);

-- The audit log. Refers to nothing: a row outlives what it is about.
CREATE TABLE changes (
    number     bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         bigint NOT NULL,
    actor_id   uuid,
    actor      text   NOT NULL,
    action     text   NOT NULL,
    project_id uuid,
    subject    text   NOT NULL,
    detail     text   NOT NULL
);

CREATE INDEX changes_by_project ON changes (project_id, number);
