-- The audit: what happened to memory, by whom and why; append-only, and chained
-- by hashes for each tenant, so that a change to what was written shows.

-- +goose Up
-- audit_head is the end of each tenant's chain. Only the trigger below, which
-- runs as the owner, touches it.
CREATE TABLE lightmem.audit_head (
    tenant text COLLATE "C" PRIMARY KEY,
    seq    bigint NOT NULL CHECK (seq >= 0),
    hash   bytea NOT NULL CHECK (octet_length(hash) = 32)
) WITH (fillfactor = 50);

CREATE TABLE lightmem.audit_event (
    tenant        text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL CHECK (seq >= 1),
    at            timestamptz NOT NULL,
    event         text NOT NULL CHECK (event <> ''),
    memory_id     text COLLATE "C" NOT NULL DEFAULT '',
    actor         text NOT NULL DEFAULT '' CHECK (octet_length(actor) <= 1024),
    reason        text NOT NULL DEFAULT '' CHECK (octet_length(reason) <= 1024),
    -- The cause: the turn, the workflow's run, the rule or prompt version.
    turn_id       text COLLATE "C" NOT NULL DEFAULT '',
    workflow_id   text COLLATE "C" NOT NULL DEFAULT '',
    run_id        text COLLATE "C" NOT NULL DEFAULT '',
    rule          text NOT NULL DEFAULT '',
    -- content names the row of audit_content with the texts before and after;
    -- the digests are SHA-256 of its salt and each text, empty for none. So a
    -- text can be erased and the chain stays whole.
    content       text COLLATE "C" NOT NULL,
    before_digest bytea NOT NULL CHECK (octet_length(before_digest) IN (0, 32)),
    after_digest  bytea NOT NULL CHECK (octet_length(after_digest) IN (0, 32)),
    -- body is all of the above as it was hashed: hash = SHA-256(prev_hash, body).
    body          text NOT NULL,
    prev_hash     bytea NOT NULL CHECK (octet_length(prev_hash) = 32),
    hash          bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_event_user ON lightmem.audit_event (tenant, user_id, seq);
CREATE INDEX audit_event_memory ON lightmem.audit_event (tenant, user_id, memory_id, seq);
CREATE INDEX audit_event_turn ON lightmem.audit_event (tenant, user_id, turn_id, seq);

CREATE TABLE lightmem.audit_content (
    tenant  text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL CHECK (id <> ''),
    salt    bytea NOT NULL CHECK (octet_length(salt) = 16),
    before  text NOT NULL,
    after   text NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
);

-- chain_audit gives each event its place in the tenant's chain. Whatever the
-- writer put into seq, at, body and the hashes is overwritten. The head's lock
-- is held to the end of the transaction: write events last.
-- +goose StatementBegin
CREATE FUNCTION lightmem.chain_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lightmem.audit_head;
BEGIN
    SELECT * INTO head FROM lightmem.audit_head WHERE tenant = NEW.tenant FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO lightmem.audit_head (tenant, seq, hash) VALUES (NEW.tenant, 0, decode(repeat('00', 32), 'hex'))
            ON CONFLICT DO NOTHING;
        SELECT * INTO STRICT head FROM lightmem.audit_head WHERE tenant = NEW.tenant FOR UPDATE;
    END IF;
    NEW.seq := head.seq + 1;
    NEW.at := clock_timestamp();
    NEW.prev_hash := head.hash;
    NEW.body := jsonb_build_object(
        'tenant', NEW.tenant, 'user_id', NEW.user_id, 'seq', NEW.seq,
        'at', to_char(NEW.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'event', NEW.event, 'memory_id', NEW.memory_id, 'actor', NEW.actor, 'reason', NEW.reason,
        'turn_id', NEW.turn_id, 'workflow_id', NEW.workflow_id, 'run_id', NEW.run_id, 'rule', NEW.rule,
        'content', NEW.content, 'before_digest', encode(NEW.before_digest, 'hex'), 'after_digest', encode(NEW.after_digest, 'hex'))::text;
    NEW.hash := sha256(NEW.prev_hash || convert_to(NEW.body, 'UTF8'));
    UPDATE lightmem.audit_head SET seq = NEW.seq, hash = NEW.hash WHERE tenant = NEW.tenant;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION lightmem.chain_audit() FROM PUBLIC;
CREATE TRIGGER chain_audit BEFORE INSERT ON lightmem.audit_event FOR EACH ROW EXECUTE FUNCTION lightmem.chain_audit();

-- Nobody changes an event by mistake, not even the owner. (A superuser who
-- means to can drop this; then the chain shows it.)
-- +goose StatementBegin
CREATE FUNCTION lightmem.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are never changed or removed' USING ERRCODE = 'insufficient_privilege';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON lightmem.audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION lightmem.refuse_change();

-- +goose Down
DROP TABLE lightmem.audit_event;
DROP TABLE lightmem.audit_content;
DROP TABLE lightmem.audit_head;
DROP FUNCTION lightmem.refuse_change();
DROP FUNCTION lightmem.chain_audit();
