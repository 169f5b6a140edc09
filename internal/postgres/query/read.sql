-- name: Revision :one
SELECT revision, unknown_before FROM lightmem.app_user WHERE tenant = @tenant AND user_id = @user_id;

-- name: ItemsSince :many
-- What changed after a revision, of whatever status.
SELECT sqlc.embed(m), e.v
FROM lightmem.memory m
LEFT JOIN lightmem.memory_vector e ON e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = m.id AND e.model = @model
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.revision > @since;

-- name: ItemsAll :many
-- All live items, and the newest superseded ones.
SELECT sqlc.embed(m), e.v
FROM lightmem.memory m
LEFT JOIN lightmem.memory_vector e ON e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = m.id AND e.model = @model
WHERE m.tenant = @tenant AND m.user_id = @user_id
    AND (m.status IN ('active', 'contested') OR m.id IN (
        SELECT c.id FROM lightmem.memory c
        WHERE c.tenant = @tenant AND c.user_id = @user_id AND c.status = 'superseded'
        ORDER BY c.expired_at DESC LIMIT @max_closed::int));

-- name: ItemsAsOf :many
-- What was known at a time, as it stood then: the version that was current,
-- or the row itself. What was forgotten since is gone from the past as well.
SELECT sqlc.embed(m), e.v, h.version AS held_version, h.status AS held_status, h.valid_to AS held_valid_to,
    h.expired_at AS held_expired_at, h.superseded_by AS held_superseded_by, h.strength AS held_strength, h.pinned AS held_pinned,
    h.last_seen AS held_last_seen
FROM lightmem.memory m
LEFT JOIN lightmem.memory_version h ON h.tenant = @tenant AND h.user_id = @user_id AND h.memory_id = m.id
    AND h.held_from <= @as_of AND h.held_to > @as_of
LEFT JOIN lightmem.memory_vector e ON e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = m.id AND e.model = @model
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.recorded_at <= @as_of AND m.status <> 'forgotten'
    AND coalesce(h.status, m.status) IN ('active', 'contested', 'superseded')
ORDER BY (coalesce(h.status, m.status) = 'superseded'), m.seq DESC
LIMIT @max_items::int;

-- name: Fetch :many
SELECT sqlc.embed(m), coalesce(u.accessed, 0)::int AS accessed, u.accessed_at,
    ARRAY(SELECT v.turn_id FROM lightmem.memory_evidence v
        WHERE v.tenant = @tenant AND v.user_id = @user_id AND v.memory_id = m.id ORDER BY v.at, v.turn_id)::text[] AS evidence
FROM lightmem.memory m
LEFT JOIN lightmem.memory_use u ON u.tenant = @tenant AND u.user_id = @user_id AND u.memory_id = m.id
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.id = ANY (@ids::text[]);

-- name: Unembedded :many
-- Live memories without a vector of the model, oldest first.
SELECT sqlc.embed(m) FROM lightmem.memory m
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.status IN ('active', 'contested')
    AND NOT EXISTS (SELECT FROM lightmem.memory_vector e
        WHERE e.tenant = @tenant AND e.user_id = @user_id AND e.memory_id = m.id AND e.model = @model)
ORDER BY m.seq LIMIT @max_items::int;
