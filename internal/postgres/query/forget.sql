-- name: WithMerged :many
-- A memory and those that were merged into it, which say the same.
WITH RECURSIVE chosen AS (
    SELECT f.id FROM lightmem.memory f WHERE f.tenant = @tenant AND f.user_id = @user_id AND f.id = @id
    UNION
    SELECT g.id FROM chosen JOIN lightmem.memory g
        ON g.tenant = @tenant AND g.user_id = @user_id AND g.superseded_by = chosen.id AND g.status = 'merged'
)
SELECT sqlc.embed(m) FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.id IN (SELECT chosen.id FROM chosen)
ORDER BY m.id;

-- name: EvidenceAround :many
-- The evidence of memories, and what else the same turns are evidence of.
SELECT e.memory_id, e.turn_id, e.quote FROM lightmem.memory_evidence e
WHERE e.tenant = @tenant AND e.user_id = @user_id AND e.turn_id IN (
    SELECT o.turn_id FROM lightmem.memory_evidence o
    WHERE o.tenant = @tenant AND o.user_id = @user_id AND o.memory_id = ANY (@ids::text[]));

-- name: AllRefusals :many
SELECT r.n, r.turn_id, r.text FROM lightmem.refusal r WHERE r.tenant = @tenant AND r.user_id = @user_id AND r.text <> '';

-- name: TurnsAbout :many
-- Turns of the given ids, and those that retrieved a memory: patterns are
-- [{"id"}].
SELECT t.id, t.workflow_id, t.plan, t.candidates FROM lightmem.turn t
WHERE t.tenant = @tenant AND t.user_id = @user_id AND t.id > @after
    AND (t.id = ANY (@ids::text[]) OR EXISTS (SELECT FROM unnest(@patterns::text[]) p WHERE t.candidates @> p::jsonb))
ORDER BY t.id
LIMIT @max_items::int;

-- name: RewriteTurn :exec
UPDATE lightmem.turn SET plan = @plan, candidates = @candidates WHERE tenant = @tenant AND user_id = @user_id AND id = @id;

-- name: ReceiptsAbout :many
-- Receipts of the given keys, and those that name a memory: patterns are
-- {"written": [{"id"}]}.
SELECT e.key, e.receipt FROM lightmem.applied_effect e
WHERE e.tenant = @tenant AND e.user_id = @user_id AND e.key > @after
    AND (e.key = ANY (@keys::text[]) OR EXISTS (SELECT FROM unnest(@patterns::text[]) p WHERE e.receipt @> p::jsonb))
ORDER BY e.key
LIMIT @max_items::int;

-- name: RewriteReceipt :exec
UPDATE lightmem.applied_effect SET receipt = @receipt WHERE tenant = @tenant AND user_id = @user_id AND key = @key;

-- name: ForgetRefusals :exec
UPDATE lightmem.refusal SET text = '' WHERE tenant = @tenant AND user_id = @user_id AND n = ANY (@ns::bigint[]);

-- name: ForgetQuote :exec
UPDATE lightmem.memory_evidence SET quote = ''
WHERE tenant = @tenant AND user_id = @user_id AND memory_id = @memory_id AND turn_id = @turn_id;

-- name: EraseAuditContent :exec
-- Removes the texts before and after of every event of memories, once these are
-- forgotten.
SELECT lightmem.erase_audit_content(@ids::text[]);
