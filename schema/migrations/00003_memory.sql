-- Mid-term memory: one user's statements, their evidence, history and vectors.

-- +goose Up
CREATE TABLE lightmem.memory (
    tenant        text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL CHECK (id <> '' AND octet_length(id) <= 64),
    -- seq orders a user's memories as they were recorded.
    seq           bigint NOT NULL,
    -- revision is app_user.revision at the latest change that a reader can notice.
    revision      bigint NOT NULL,
    version       integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    strength      integer NOT NULL DEFAULT 1 CHECK (strength >= 1),
    pinned        boolean NOT NULL DEFAULT false,
    kind          text NOT NULL CHECK (kind IN ('fact', 'preference', 'event', 'plan', 'note')),
    status        text NOT NULL CHECK (status IN ('active', 'contested', 'superseded', 'merged', 'evicted', 'forgotten')),
    source        text NOT NULL CHECK (source IN ('user', 'repeated', 'assistant')),
    -- Event time: when it happened, and when it was true. Open ends are NULL.
    event_at      timestamptz NOT NULL CHECK (event_at >= '0001-01-01Z' AND event_at < '10000-01-01Z'),
    valid_from    timestamptz NOT NULL CHECK (valid_from >= '0001-01-01Z' AND valid_from < '10000-01-01Z'),
    valid_to      timestamptz CHECK (valid_to >= valid_from AND valid_to < '10000-01-01Z'),
    -- Knowledge time: when it was held to be current, and since when the row
    -- is as it is.
    recorded_at   timestamptz NOT NULL,
    expired_at    timestamptz CHECK (expired_at >= recorded_at),
    changed_at    timestamptz NOT NULL CHECK (changed_at >= recorded_at),
    last_seen     timestamptz NOT NULL,
    conversation  text COLLATE "C" NOT NULL DEFAULT '',
    turn_id       text COLLATE "C" NOT NULL DEFAULT '',
    superseded_by text COLLATE "C",
    speaker       text NOT NULL DEFAULT '' CHECK (octet_length(speaker) <= 1024),
    subject       text NOT NULL DEFAULT '' CHECK (octet_length(subject) <= 1024),
    attribute     text NOT NULL DEFAULT '' CHECK (octet_length(attribute) <= 1024),
    value         text NOT NULL DEFAULT '' CHECK (octet_length(value) <= 65536),
    rule          text NOT NULL DEFAULT '',
    text          text NOT NULL CHECK (octet_length(text) <= 65536),
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- content_hash identifies the statement: its normalised words, and its
    -- interval where that is closed (postgres.ContentHash).
    content_hash  bytea NOT NULL CHECK (octet_length(content_hash) IN (0, 16)),
    -- terms are lexical.Analyze(text) as little-endian int32s, made by that
    -- version of the analysis.
    analyzer      smallint NOT NULL,
    terms         bytea NOT NULL,
    -- twin is the most similar live memory when this one was recorded; where
    -- room is needed, close pairs are merged first.
    twin          text COLLATE "C",
    twin_cosine   real CHECK ((twin IS NULL) = (twin_cosine IS NULL)),
    PRIMARY KEY (tenant, user_id, id),
    FOREIGN KEY (tenant, user_id) REFERENCES lightmem.app_user ON DELETE CASCADE,
    FOREIGN KEY (tenant, user_id, superseded_by) REFERENCES lightmem.memory,
    CONSTRAINT live_is_not_expired CHECK ((status IN ('active', 'contested')) = (expired_at IS NULL)),
    CONSTRAINT closed_by_another CHECK ((status IN ('superseded', 'merged')) = (superseded_by IS NOT NULL)),
    CONSTRAINT not_closed_by_itself CHECK (superseded_by <> id),
    CONSTRAINT forgotten_has_no_words CHECK ((status = 'forgotten') = (text = '')),
    CONSTRAINT forgotten_leaves_no_trace CHECK (status <> 'forgotten'
        OR (terms = '' AND content_hash = '' AND value = '' AND subject = '' AND attribute = '' AND metadata = '{}')),
    CONSTRAINT pinned_is_live CHECK (NOT pinned OR expired_at IS NULL)
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX memory_seq ON lightmem.memory (tenant, user_id, seq);
-- One live row for one statement, whoever writes it at the same time.
CREATE UNIQUE INDEX memory_content ON lightmem.memory (tenant, user_id, content_hash)
    WHERE status IN ('active', 'contested');
-- What changed since a revision.
CREATE INDEX memory_revision ON lightmem.memory (tenant, user_id, revision);
-- What is said about the same thing.
CREATE INDEX memory_attribute ON lightmem.memory (tenant, user_id, subject, attribute)
    WHERE status IN ('active', 'contested') AND attribute <> '';
-- Pairs that could be merged.
CREATE INDEX memory_twin ON lightmem.memory (tenant, user_id, twin_cosine DESC)
    WHERE status IN ('active', 'contested') AND twin IS NOT NULL AND NOT pinned;
-- For the foreign key.
CREATE INDEX memory_superseded_by ON lightmem.memory (tenant, user_id, superseded_by)
    WHERE superseded_by IS NOT NULL;

-- memory_version keeps what a memory was before a change. Its words never
-- change, so they are not repeated here.
CREATE TABLE lightmem.memory_version (
    tenant        text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    memory_id     text COLLATE "C" NOT NULL,
    version       integer NOT NULL,
    strength      integer NOT NULL,
    pinned        boolean NOT NULL,
    status        text NOT NULL,
    superseded_by text COLLATE "C",
    valid_from    timestamptz NOT NULL,
    valid_to      timestamptz,
    expired_at    timestamptz,
    last_seen     timestamptz NOT NULL,
    -- It was like this from held_from (included) to held_to (not included).
    held_from     timestamptz NOT NULL,
    held_to       timestamptz NOT NULL CHECK (held_to >= held_from),
    PRIMARY KEY (tenant, user_id, memory_id, version),
    FOREIGN KEY (tenant, user_id, memory_id) REFERENCES lightmem.memory ON DELETE CASCADE
);

-- Keeps the version, so that no statement can change a memory and forget to.
-- +goose StatementBegin
CREATE FUNCTION lightmem.keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.version := OLD.version + 1;
    INSERT INTO lightmem.memory_version (tenant, user_id, memory_id, version, strength, pinned, status, superseded_by,
        valid_from, valid_to, expired_at, last_seen, held_from, held_to)
    VALUES (OLD.tenant, OLD.user_id, OLD.id, OLD.version, OLD.strength, OLD.pinned, OLD.status, OLD.superseded_by,
        OLD.valid_from, OLD.valid_to, OLD.expired_at, OLD.last_seen, OLD.changed_at, NEW.changed_at);
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER keep_version BEFORE UPDATE ON lightmem.memory FOR EACH ROW
    WHEN ((OLD.status, OLD.valid_from, OLD.valid_to, OLD.expired_at, OLD.superseded_by, OLD.strength, OLD.pinned)
        IS DISTINCT FROM (NEW.status, NEW.valid_from, NEW.valid_to, NEW.expired_at, NEW.superseded_by, NEW.strength, NEW.pinned))
    EXECUTE FUNCTION lightmem.keep_version();

CREATE TABLE lightmem.memory_evidence (
    tenant    text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    turn_id   text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL,
    source    text NOT NULL CHECK (source IN ('user', 'repeated', 'assistant')),
    rule      text NOT NULL DEFAULT '',
    -- quote is the span of the turn that supports the memory.
    quote     text NOT NULL DEFAULT '' CHECK (octet_length(quote) <= 65536),
    PRIMARY KEY (tenant, user_id, memory_id, turn_id),
    FOREIGN KEY (tenant, user_id, memory_id) REFERENCES lightmem.memory ON DELETE CASCADE
);
CREATE INDEX memory_evidence_turn ON lightmem.memory_evidence (tenant, user_id, turn_id);

-- memory_use is how a memory is used, and what that makes it worth keeping;
-- apart from the memory itself, because reading must not rewrite what is read.
CREATE TABLE lightmem.memory_use (
    tenant      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    accessed    integer NOT NULL DEFAULT 0 CHECK (accessed >= 0),
    accessed_at timestamptz,
    -- worth is lightmem.worth of the memory; evictable says that it is live
    -- and not pinned.
    worth       double precision NOT NULL,
    evictable   boolean NOT NULL,
    PRIMARY KEY (tenant, user_id, memory_id),
    FOREIGN KEY (tenant, user_id, memory_id) REFERENCES lightmem.memory ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX memory_use_worth ON lightmem.memory_use (tenant, user_id, worth, memory_id) WHERE evictable;

-- worth is the binary logarithm of a memory's utility, up to a term that is the
-- same for all memories of a user at one time, so that the order by worth is
-- the order by utility at any time, and an index can keep it:
--
--   utility = kind · (1 + ln strength) · (1 + ln (1 + accessed)) · ½^(idle / 90 days) · ½^(age / 720 days)
--
-- kind is 1.5 for facts and preferences, 1 for events and plans, 0.8 for notes.
-- idle counts from the last time that the memory was said, selected or
-- recorded, age from the time it was recorded. A statement that says of itself
-- that it is over counts half. (postgres.Worth is the same in Go.)
-- +goose StatementBegin
CREATE FUNCTION lightmem.worth(kind text, strength integer, accessed integer, valid_to timestamptz,
    recorded_at timestamptz, touched_at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ln((CASE kind WHEN 'fact' THEN 1.5 WHEN 'preference' THEN 1.5 WHEN 'note' THEN 0.8 ELSE 1 END)::float8
            * (1 + ln(strength::float8)) * (1 + ln(1 + accessed::float8))
            * CASE WHEN valid_to IS NULL THEN 1 ELSE 0.5 END) / ln(2::float8)
        + extract(epoch FROM greatest(recorded_at, touched_at))::float8 / (90 * 86400)
        + extract(epoch FROM recorded_at)::float8 / (720 * 86400)
$$;
-- +goose StatementEnd

-- memory_vector holds what exact search reads, and nothing else.
CREATE TABLE lightmem.memory_vector (
    tenant    text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    model     text COLLATE "C" NOT NULL CHECK (model <> '' AND octet_length(model) <= 256),
    memory_id text COLLATE "C" NOT NULL,
    live      boolean NOT NULL,
    v         public.halfvec NOT NULL CHECK (public.vector_dims(v) BETWEEN 1 AND 3900),
    -- code has one bit for each number's sign: the first, cheap look of a
    -- search for near duplicates.
    code      bit varying NOT NULL GENERATED ALWAYS AS (public.binary_quantize(v)) STORED,
    PRIMARY KEY (tenant, user_id, memory_id, model),
    FOREIGN KEY (tenant, user_id, memory_id) REFERENCES lightmem.memory ON DELETE CASCADE
);
-- 1,024 numbers and more would be moved out of the row, at four times the cost
-- of reading; PLAIN keeps them in it, up to 3,900 in one page.
ALTER TABLE lightmem.memory_vector ALTER COLUMN v SET STORAGE PLAIN;
CREATE INDEX memory_vector_code ON lightmem.memory_vector (tenant, user_id, model, live) INCLUDE (memory_id, code);

-- What was proposed and not kept, the latest of each user.
CREATE TABLE lightmem.refusal (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- n is app_user.refused after this one.
    n       bigint NOT NULL,
    at      timestamptz NOT NULL,
    turn_id text COLLATE "C" NOT NULL,
    reason  text NOT NULL CHECK (reason <> ''),
    rule    text NOT NULL DEFAULT '',
    text    text NOT NULL CHECK (octet_length(text) <= 65536),
    PRIMARY KEY (tenant, user_id, n),
    FOREIGN KEY (tenant, user_id) REFERENCES lightmem.app_user ON DELETE CASCADE
);
CREATE INDEX refusal_turn ON lightmem.refusal (tenant, user_id, turn_id);

-- applied_effect makes each step happen once: its key is unique, and it is
-- written in the transaction of the step's effect.
CREATE TABLE lightmem.applied_effect (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    -- key is the workflow's id and the step's name.
    key     text COLLATE "C" NOT NULL CHECK (octet_length(key) <= 2048),
    at      timestamptz NOT NULL DEFAULT now(),
    receipt jsonb NOT NULL,
    PRIMARY KEY (tenant, user_id, key),
    FOREIGN KEY (tenant, user_id) REFERENCES lightmem.app_user ON DELETE CASCADE
);

-- answer_stream carries the pieces of answers on their way. It need not
-- survive a crash: the workflow's record is the answer.
CREATE UNLOGGED TABLE lightmem.answer_stream (
    tenant      text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    attempt     integer NOT NULL,
    seq         integer NOT NULL CHECK (seq BETWEEN 0 AND 32767),
    piece       text NOT NULL CHECK (octet_length(piece) <= 65536),
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_id, workflow_id, attempt, seq)
);

-- +goose Down
DROP TABLE lightmem.answer_stream;
DROP TABLE lightmem.applied_effect;
DROP TABLE lightmem.refusal;
DROP TABLE lightmem.memory_vector;
DROP FUNCTION lightmem.worth(text, integer, integer, timestamptz, timestamptz, timestamptz);
DROP TABLE lightmem.memory_use;
DROP TABLE lightmem.memory_evidence;
DROP TABLE lightmem.memory_version;
DROP TABLE lightmem.memory;
DROP FUNCTION lightmem.keep_version();
