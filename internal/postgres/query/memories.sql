-- name: ListMemories :many
-- A page of a user's memories, newest first, in their present state.
SELECT sqlc.embed(m), coalesce(u.accessed, 0)::int AS accessed, u.accessed_at,
    ARRAY(SELECT v.turn_id FROM lightmem.memory_evidence v
        WHERE v.tenant = @tenant AND v.user_id = @user_id AND v.memory_id = m.id ORDER BY v.at, v.turn_id)::text[] AS evidence
FROM lightmem.memory m
LEFT JOIN lightmem.memory_use u ON u.tenant = @tenant AND u.user_id = @user_id AND u.memory_id = m.id
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.seq < @before
    AND (@all_statuses::boolean OR m.status IN ('active', 'contested')
        OR (sqlc.narg(valid_at)::timestamptz IS NOT NULL AND m.status = 'superseded'))
    AND (sqlc.narg(valid_at)::timestamptz IS NULL
        OR (m.valid_from <= sqlc.narg(valid_at)::timestamptz AND (m.valid_to IS NULL OR m.valid_to > sqlc.narg(valid_at)::timestamptz)))
ORDER BY m.seq DESC
LIMIT @max_items::int;

-- name: ListMemoriesAsOf :many
-- The same as it stood at a time of knowledge. What was forgotten since is
-- gone from the past as well.
SELECT sqlc.embed(m), h.version AS held_version, h.status AS held_status, h.valid_to AS held_valid_to,
    h.expired_at AS held_expired_at, h.superseded_by AS held_superseded_by, h.strength AS held_strength, h.pinned AS held_pinned,
    h.last_seen AS held_last_seen,
    ARRAY(SELECT v.turn_id FROM lightmem.memory_evidence v
        WHERE v.tenant = @tenant AND v.user_id = @user_id AND v.memory_id = m.id AND v.at <= @as_of ORDER BY v.at, v.turn_id)::text[] AS evidence
FROM lightmem.memory m
LEFT JOIN lightmem.memory_version h ON h.tenant = @tenant AND h.user_id = @user_id AND h.memory_id = m.id
    AND h.held_from <= @as_of AND h.held_to > @as_of
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.seq < @before AND m.recorded_at <= @as_of AND m.status <> 'forgotten'
    AND (@all_statuses::boolean OR coalesce(h.status, m.status) IN ('active', 'contested')
        OR (sqlc.narg(valid_at)::timestamptz IS NOT NULL AND coalesce(h.status, m.status) = 'superseded'))
    AND (sqlc.narg(valid_at)::timestamptz IS NULL
        OR (m.valid_from <= sqlc.narg(valid_at)::timestamptz
            AND coalesce(CASE WHEN h.version IS NULL THEN m.valid_to ELSE h.valid_to END, 'infinity') > sqlc.narg(valid_at)::timestamptz))
ORDER BY m.seq DESC
LIMIT @max_items::int;

-- name: EvidenceOf :many
SELECT e.turn_id, e.at, e.source, e.rule, e.quote FROM lightmem.memory_evidence e
WHERE e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = @memory_id
ORDER BY e.at, e.turn_id;

-- name: VersionsOf :many
SELECT v.version, v.strength, v.pinned, v.status, v.superseded_by, v.valid_from, v.valid_to, v.expired_at, v.last_seen, v.held_from, v.held_to
FROM lightmem.memory_version v
WHERE v.tenant = @tenant AND v.user_id = @user_id AND v.memory_id = @memory_id
ORDER BY v.version;

-- name: Counts :one
SELECT u.live, u.refused, u.revision,
    (SELECT coalesce(sum(c.turns), 0) FROM lightmem.conversation c WHERE c.tenant = @tenant AND c.user_id = @user_id)::bigint AS turns
FROM lightmem.app_user u WHERE u.tenant = @tenant AND u.user_id = @user_id;
