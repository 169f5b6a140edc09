-- name: LockUser :one
-- Takes the lock under which a user's memory changes. now is later than the
-- time of every earlier change.
SELECT revision, seq, live, refused,
    greatest(clock_timestamp(), changed_at + interval '1 microsecond')::timestamptz AS now
FROM lightmem.app_user WHERE tenant = @tenant AND user_id = @user_id FOR NO KEY UPDATE;

-- name: ChangeUser :exec
UPDATE lightmem.app_user SET revision = @revision, seq = @seq, live = @live, refused = @refused, changed_at = @changed_at
WHERE tenant = @tenant AND user_id = @user_id;

-- name: LiveByContent :many
SELECT sqlc.embed(m) FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.status IN ('active', 'contested')
    AND m.content_hash = ANY (@hashes::bytea[]);

-- name: LiveByAttribute :many
-- The youngest statements about one subject's attribute.
SELECT sqlc.embed(m) FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.status IN ('active', 'contested')
    AND m.subject = @subject AND m.attribute = @attribute AND m.attribute <> ''
ORDER BY m.seq DESC LIMIT 32;

-- name: Nearest :many
-- The live memories that are most similar to a vector: a first look at one bit
-- for each number, then the exact cosine of the best. Two vectors whose cosine
-- is .9 differ in about 14 % of the bits, unrelated ones in a third and more,
-- so what matters here is among the first 64 (tested).
WITH rough AS MATERIALIZED (
    SELECT r.memory_id FROM lightmem.memory_vector r
    WHERE r.tenant = @tenant AND r.user_id = @user_id AND r.model = @model AND r.live
        AND length(r.code) = (SELECT vector_dims(@v::halfvec))
    ORDER BY r.code <~> (SELECT binary_quantize(@v::halfvec)) -- once, not for each row
    LIMIT 64
)
SELECT sqlc.embed(m), (1 - (e.v <=> @v::halfvec))::float8 AS cosine
FROM rough
JOIN lightmem.memory_vector e ON e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = rough.memory_id AND e.model = @model
JOIN lightmem.memory m ON m.tenant = @tenant AND m.user_id = @user_id AND m.id = rough.memory_id
WHERE m.status IN ('active', 'contested')
ORDER BY e.v <=> @v::halfvec
LIMIT @max_items::int;

-- name: LiveByID :one
SELECT sqlc.embed(m) FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.id = @id;

-- name: InsertMemory :exec
INSERT INTO lightmem.memory (tenant, user_id, id, seq, revision, kind, status, source, pinned, event_at, valid_from, valid_to,
    recorded_at, changed_at, last_seen, expired_at, superseded_by, conversation, turn_id, speaker, subject, attribute, value, rule, text, metadata,
    content_hash, analyzer, terms, twin, twin_cosine)
VALUES (@tenant, @user_id, @id, @seq, @revision, @kind, @status, @source, @pinned, @event_at, @valid_from, @valid_to,
    @recorded_at, @recorded_at, @recorded_at, @expired_at, @superseded_by, @conversation, @turn_id, @speaker, @subject, @attribute, @value, @rule, @text, @metadata,
    @content_hash, @analyzer, @terms, @twin, @twin_cosine);

-- name: InsertUse :exec
INSERT INTO lightmem.memory_use (tenant, user_id, memory_id, worth, evictable)
SELECT m.tenant, m.user_id, m.id, lightmem.worth(m.kind, m.strength, 0, m.valid_to, m.recorded_at, m.last_seen),
    m.status IN ('active', 'contested') AND NOT m.pinned
FROM lightmem.memory m WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.id = @memory_id;

-- name: SetVector :execrows
-- Stores the vector of a memory that exists and has words.
INSERT INTO lightmem.memory_vector (tenant, user_id, model, memory_id, live, v)
SELECT m.tenant, m.user_id, @model::text, m.id, m.status IN ('active', 'contested'), @v::halfvec
FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.id = @memory_id AND m.status <> 'forgotten'
ON CONFLICT (tenant, user_id, memory_id, model) DO UPDATE SET v = EXCLUDED.v, live = EXCLUDED.live;

-- name: MarkRevision :exec
-- Lets readers see that something about the memories changed that is not kept
-- as a version, such as a vector.
UPDATE lightmem.memory SET revision = @revision
WHERE tenant = @tenant AND user_id = @user_id AND id = ANY (@ids::text[]);

-- name: InsertEvidence :execrows
INSERT INTO lightmem.memory_evidence (tenant, user_id, memory_id, turn_id, at, source, rule, quote)
VALUES (@tenant, @user_id, @memory_id, @turn_id, @at, @source, @rule, @quote)
ON CONFLICT DO NOTHING;

-- name: CopyEvidence :exec
-- Gives a memory the evidence of one that is merged into it.
INSERT INTO lightmem.memory_evidence (tenant, user_id, memory_id, turn_id, at, source, rule, quote)
SELECT e.tenant, e.user_id, @into_id::text, e.turn_id, e.at, e.source, e.rule, e.quote
FROM lightmem.memory_evidence e
WHERE e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = @from_id
ON CONFLICT DO NOTHING;

-- name: ChangeMemory :exec
-- Puts a memory into its new state; the trigger keeps the old one.
UPDATE lightmem.memory
SET revision = @revision, changed_at = @changed_at, status = @status, source = @source, strength = @strength, pinned = @pinned,
    last_seen = @last_seen, valid_to = @valid_to, expired_at = @expired_at, superseded_by = @superseded_by
WHERE tenant = @tenant AND user_id = @user_id AND id = @id;

-- name: ChangeUse :exec
-- Follows a change of a memory: its worth, and whether it may be evicted.
UPDATE lightmem.memory_use u
SET worth = lightmem.worth(m.kind, m.strength, u.accessed, m.valid_to, m.recorded_at, greatest(m.last_seen, u.accessed_at)),
    evictable = m.status IN ('active', 'contested') AND NOT m.pinned
FROM lightmem.memory m
WHERE u.tenant = @tenant AND u.user_id = @user_id AND u.memory_id = @memory_id
    AND m.tenant = @tenant AND m.user_id = @user_id AND m.id = @memory_id;

-- name: CloseVectors :exec
UPDATE lightmem.memory_vector SET live = false WHERE tenant = @tenant AND user_id = @user_id AND memory_id = @memory_id AND live;

-- name: InsertRefusal :exec
INSERT INTO lightmem.refusal (tenant, user_id, n, at, turn_id, reason, rule, text)
VALUES (@tenant, @user_id, @n, @at, @turn_id, @reason, @rule, @text);

-- name: TrimRefusals :exec
DELETE FROM lightmem.refusal WHERE tenant = @tenant AND user_id = @user_id AND n <= @n;

-- name: Twins :many
-- Pairs of live memories that were close when the younger was recorded,
-- closest first.
SELECT sqlc.embed(a), sqlc.embed(b)
FROM lightmem.memory a
JOIN lightmem.memory b ON b.tenant = @tenant AND b.user_id = @user_id AND b.id = a.twin
WHERE a.tenant = @tenant AND a.user_id = @user_id AND a.status IN ('active', 'contested') AND a.twin IS NOT NULL AND NOT a.pinned
    AND a.twin_cosine >= @min_cosine AND b.status IN ('active', 'contested')
ORDER BY a.twin_cosine DESC
LIMIT @max_items::int;

-- name: LeastWorth :many
SELECT sqlc.embed(m), u.accessed, u.accessed_at, u.worth
FROM lightmem.memory_use u
JOIN lightmem.memory m ON m.tenant = @tenant AND m.user_id = @user_id AND m.id = u.memory_id
WHERE u.tenant = @tenant AND u.user_id = @user_id AND u.evictable
ORDER BY u.worth, u.memory_id
LIMIT @max_items::int;

-- name: ForgetMemory :exec
-- Takes the words out of a memory and closes it.
UPDATE lightmem.memory
SET revision = @revision, changed_at = @changed_at, status = 'forgotten', pinned = false, superseded_by = NULL,
    expired_at = coalesce(expired_at, @changed_at), text = '', value = '', subject = '', attribute = '', speaker = '',
    metadata = '{}', content_hash = '', terms = '', twin = NULL, twin_cosine = NULL
WHERE tenant = @tenant AND user_id = @user_id AND id = @id;

-- name: ForgetQuotes :exec
UPDATE lightmem.memory_evidence SET quote = '' WHERE tenant = @tenant AND user_id = @user_id AND memory_id = @memory_id AND quote <> '';

-- name: DeleteVectors :exec
DELETE FROM lightmem.memory_vector WHERE tenant = @tenant AND user_id = @user_id AND memory_id = @memory_id;

-- name: InsertAuditContent :exec
INSERT INTO lightmem.audit_content (tenant, user_id, id, salt, before, after)
VALUES (@tenant, @user_id, @id, @salt, @before, @after);

-- name: InsertAuditEvent :exec
-- The trigger adds place, time, body and hashes, and holds the tenant's chain
-- until the transaction ends: keep this last.
INSERT INTO lightmem.audit_event (tenant, user_id, event, memory_id, actor, reason, turn_id, workflow_id, run_id, rule,
    content, before_digest, after_digest)
VALUES (@tenant, @user_id, @event, @memory_id, @actor, @reason, @turn_id, @workflow_id, @run_id, @rule,
    @content, @before_digest, @after_digest);
