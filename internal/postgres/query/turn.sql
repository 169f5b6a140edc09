-- name: EnsureConversation :exec
-- Makes the tenant, the user and the conversation where they are new.
WITH new_tenant AS (
    INSERT INTO lightmem.tenant (tenant) VALUES (@tenant) ON CONFLICT DO NOTHING
), new_user AS (
    INSERT INTO lightmem.app_user (tenant, user_id) VALUES (@tenant, @user_id) ON CONFLICT DO NOTHING
)
INSERT INTO lightmem.conversation (tenant, user_id, id) VALUES (@tenant, @user_id, @id) ON CONFLICT DO NOTHING;

-- name: EnsureUser :exec
WITH new_tenant AS (
    INSERT INTO lightmem.tenant (tenant) VALUES (@tenant) ON CONFLICT DO NOTHING
)
INSERT INTO lightmem.app_user (tenant, user_id) VALUES (@tenant, @user_id) ON CONFLICT DO NOTHING;

-- name: Profile :one
SELECT name, time_zone FROM lightmem.app_user WHERE tenant = @tenant AND user_id = @user_id;

-- name: SetProfile :exec
UPDATE lightmem.app_user SET name = @name, time_zone = @time_zone WHERE tenant = @tenant AND user_id = @user_id;

-- name: LastTurns :many
-- The newest turns of a conversation up to a time, newest first. Texts are cut:
-- no more of them could fit the short-term context. A recall is a question to
-- the memory, not a part of the conversation. The turn that asks is left out,
-- in case it is on record already.
SELECT id, at, speaker, left(input, @max_runes::int) AS input, left(answer, @max_runes::int) AS answer
FROM lightmem.turn
WHERE tenant = @tenant AND user_id = @user_id AND conversation = @conversation
    AND at <= @at AND mode <> 'recall' AND idempotency_key <> @idempotency_key
    AND (sqlc.narg(as_of)::timestamptz IS NULL OR accepted_at <= sqlc.narg(as_of)::timestamptz)
ORDER BY at DESC, id DESC
LIMIT @max_turns::int;

-- name: TurnByKey :one
-- The turn of an idempotency key, with the receipt of its write, if any.
SELECT sqlc.embed(t), e.receipt
FROM lightmem.turn t
LEFT JOIN lightmem.applied_effect e
    ON e.tenant = t.tenant AND e.user_id = t.user_id AND e.key = t.workflow_id || '/commit'
WHERE t.tenant = @tenant AND t.user_id = @user_id AND t.conversation = @conversation AND t.idempotency_key = @idempotency_key;

-- name: TurnByID :one
SELECT sqlc.embed(t), e.receipt
FROM lightmem.turn t
LEFT JOIN lightmem.applied_effect e
    ON e.tenant = t.tenant AND e.user_id = t.user_id AND e.key = t.workflow_id || '/commit'
WHERE t.tenant = @tenant AND t.user_id = @user_id AND t.id = @id;

-- name: RecordTurn :one
-- Writes the turn, and only with it counts the conversation's turn and the
-- selected memories' use. Memories are locked in the order of their ids. Of a
-- memory that was forgotten since it was found, the words are left out.
WITH found AS MATERIALIZED (
    SELECT x.item, x.n, x.item ->> 'id' AS id FROM jsonb_array_elements(@candidates::jsonb) WITH ORDINALITY x(item, n)
), shown AS (
    SELECT coalesce(jsonb_agg(CASE WHEN f.id IS NULL THEN found.item
        ELSE (found.item - 'speaker') || '{"memory": "", "status": "forgotten"}' END ORDER BY found.n), '[]') AS list
    FROM found
    LEFT JOIN lightmem.memory f ON f.tenant = @tenant AND f.user_id = @user_id AND f.id = found.id AND f.status = 'forgotten'
), turn AS (
    INSERT INTO lightmem.turn (tenant, user_id, id, conversation, idempotency_key, request_digest, workflow_id, run_id,
        mode, state, actor, at, accepted_at, speaker, input, answer, answer_version,
        settings, plan, candidates, selection, degraded)
    SELECT @tenant, @user_id, @id, @conversation, @idempotency_key, @request_digest, @workflow_id, @run_id,
        @mode, 'recorded', @actor, @at, @accepted_at, @speaker, @input, @answer, @answer_version,
        @settings, @plan, shown.list, @selection, @degraded
    FROM shown
    ON CONFLICT (tenant, user_id, id) DO NOTHING
    RETURNING id
), counted AS (
    UPDATE lightmem.conversation c SET turns = c.turns + 1, last_at = greatest(c.last_at, now())
    WHERE c.tenant = @tenant AND c.user_id = @user_id AND c.id = @conversation AND EXISTS (SELECT FROM turn)
), locked AS (
    SELECT u.memory_id FROM lightmem.memory_use u
    WHERE u.tenant = @tenant AND u.user_id = @user_id AND u.memory_id = ANY (@selected::text[]) AND EXISTS (SELECT FROM turn)
    ORDER BY u.memory_id FOR UPDATE
), used AS (
    UPDATE lightmem.memory_use u
    SET accessed = u.accessed + 1, accessed_at = now(),
        worth = lightmem.worth(m.kind, m.strength, u.accessed + 1, m.valid_to, m.recorded_at, greatest(m.last_seen, now()))
    FROM locked, lightmem.memory m
    WHERE u.tenant = @tenant AND u.user_id = @user_id AND u.memory_id = locked.memory_id
        AND m.tenant = @tenant AND m.user_id = @user_id AND m.id = locked.memory_id
)
SELECT count(*) FROM turn;

-- name: RecordAnswer :exec
-- Adds the answer that the caller handed in later, once.
UPDATE lightmem.turn SET answer = @answer, answer_version = @answer_version
WHERE tenant = @tenant AND user_id = @user_id AND id = @id AND mode = 'caller' AND answer = '' AND state = 'recorded';

-- name: CommitTurn :exec
UPDATE lightmem.turn SET state = 'committed', committed_at = @committed_at, draft_version = @draft_version, degraded = @degraded
WHERE tenant = @tenant AND user_id = @user_id AND id = @id AND state = 'recorded';

-- name: Effect :one
SELECT receipt FROM lightmem.applied_effect WHERE tenant = @tenant AND user_id = @user_id AND key = @key;

-- name: InsertEffect :exec
INSERT INTO lightmem.applied_effect (tenant, user_id, key, receipt) VALUES (@tenant, @user_id, @key, @receipt);
