-- Tenants, users, conversations, turns.
--
-- Every table that holds a tenant's data names the tenant and the user in its
-- first two columns, its primary key and its policy. Ids compare as bytes.

-- +goose Up
CREATE TABLE lightmem.tenant (
    tenant     text COLLATE "C" PRIMARY KEY CHECK (tenant <> '' AND octet_length(tenant) <= 256),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE lightmem.app_user (
    tenant         text COLLATE "C" NOT NULL REFERENCES lightmem.tenant,
    user_id        text COLLATE "C" NOT NULL CHECK (user_id <> '' AND octet_length(user_id) <= 256),
    name           text NOT NULL DEFAULT '' CHECK (octet_length(name) <= 1024),
    time_zone      text NOT NULL DEFAULT '' CHECK (octet_length(time_zone) <= 256),
    -- revision counts the changes to the user's memory; rows changed together
    -- carry the same number. Whoever changes memory holds this row's lock.
    revision       bigint NOT NULL DEFAULT 0 CHECK (revision >= 0),
    -- unknown_before: what changed up to this revision can no longer be told
    -- apart (rows were removed for good); readers start afresh.
    unknown_before bigint NOT NULL DEFAULT 0 CHECK (unknown_before <= revision),
    -- seq is the number of the youngest memory; live counts active and
    -- contested ones, so that the capacity check needs no count(*).
    seq            bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
    live           integer NOT NULL DEFAULT 0 CHECK (live >= 0),
    refused        bigint NOT NULL DEFAULT 0 CHECK (refused >= 0),
    -- changed_at is the time of the latest change; the next one is later, so
    -- that knowledge time never runs backwards within a user.
    changed_at     timestamptz NOT NULL DEFAULT '-infinity',
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_id)
) WITH (fillfactor = 50); -- small and changed often: leave room for in-place updates

CREATE TABLE lightmem.conversation (
    tenant     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL CHECK (id <> '' AND octet_length(id) <= 256),
    turns      integer NOT NULL DEFAULT 0 CHECK (turns >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_id, id),
    FOREIGN KEY (tenant, user_id) REFERENCES lightmem.app_user ON DELETE CASCADE
) WITH (fillfactor = 70);

-- A turn's transcript, and how its answer came about.
CREATE TABLE lightmem.turn (
    tenant          text COLLATE "C" NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL CHECK (id <> '' AND octet_length(id) <= 64),
    conversation    text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL CHECK (idempotency_key <> '' AND octet_length(idempotency_key) <= 256),
    request_digest  text COLLATE "C" NOT NULL,
    workflow_id     text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    mode            text NOT NULL CHECK (mode IN ('answer', 'recall', 'caller', 'remember')),
    -- recorded: answered, and a write may follow; committed: written.
    state           text NOT NULL CHECK (state IN ('recorded', 'committed')),
    actor           text NOT NULL DEFAULT '' CHECK (octet_length(actor) <= 1024),
    -- at is when it happened, accepted_at when LightMem took it on.
    at              timestamptz NOT NULL CHECK (at >= '0001-01-01Z' AND at < '10000-01-01Z'),
    accepted_at     timestamptz NOT NULL,
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    committed_at    timestamptz CHECK ((committed_at IS NOT NULL) = (state = 'committed')),
    speaker         text NOT NULL DEFAULT '' CHECK (octet_length(speaker) <= 1024),
    input           text NOT NULL CHECK (octet_length(input) <= 65536),
    answer          text NOT NULL DEFAULT '' CHECK (octet_length(answer) <= 262144),
    answer_version  text NOT NULL DEFAULT '',
    draft_version   text NOT NULL DEFAULT '',
    -- settings: what else the request asked for, and who served it.
    settings        jsonb NOT NULL,
    plan            jsonb NOT NULL,
    candidates      jsonb NOT NULL,
    selection       jsonb NOT NULL,
    degraded        jsonb NOT NULL,
    PRIMARY KEY (tenant, user_id, id),
    UNIQUE (tenant, user_id, conversation, idempotency_key),
    FOREIGN KEY (tenant, user_id, conversation) REFERENCES lightmem.conversation ON DELETE CASCADE
);
-- The last messages of a conversation.
CREATE INDEX turn_conversation ON lightmem.turn (tenant, user_id, conversation, at, id);

-- +goose Down
DROP TABLE lightmem.turn;
DROP TABLE lightmem.conversation;
DROP TABLE lightmem.app_user;
DROP TABLE lightmem.tenant;
