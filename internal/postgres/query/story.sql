-- name: ListTurns :many
-- A page of a user's turns, newest first; of one conversation where it is named.
SELECT t.id, t.conversation, t.mode, t.state, t.at, t.accepted_at, t.workflow_id, t.run_id, t.speaker, t.input, t.answer, t.degraded
FROM lightmem.turn t
WHERE t.tenant = @tenant AND t.user_id = @user_id
    AND (@conversation::text = '' OR t.conversation = @conversation::text)
    AND (@before::text = '' OR t.id < @before::text)
ORDER BY t.id DESC
LIMIT @max_items::int;

-- name: RefusalsOf :many
SELECT r.n, r.at, r.turn_id, r.reason, r.rule, r.text FROM lightmem.refusal r
WHERE r.tenant = @tenant AND r.user_id = @user_id AND (@turn_id::text = '' OR r.turn_id = @turn_id::text)
ORDER BY r.n DESC
LIMIT @max_items::int;

-- name: History :many
-- A page of what happened to a user's memory, oldest first, with the texts
-- before and after where they are still kept.
SELECT sqlc.embed(a), c.before, c.after
FROM lightmem.audit_event a
LEFT JOIN lightmem.audit_content c ON c.tenant = @tenant AND c.user_id = @user_id AND c.id = a.content
WHERE a.tenant = @tenant AND a.user_id = @user_id AND a.seq > @after_seq
    AND (@memory_id::text = '' OR a.memory_id = @memory_id::text)
    AND (@turn_id::text = '' OR a.turn_id = @turn_id::text)
ORDER BY a.seq
LIMIT @max_items::int;
