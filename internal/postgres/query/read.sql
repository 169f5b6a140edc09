-- name: Revision :one
SELECT revision, unknown_before, live FROM lightmem.app_user WHERE tenant = @tenant AND user_id = @user_id;

-- The three queries of items have the same columns in the same order, which
-- itemReader knows.

-- name: ItemsSince :many
-- What changed after a revision, of whatever status. Mostly two or three rows
-- of thousands: lateral and limited, the vectors are looked up one by one; a
-- plain join is planned for a third of the memory and reads all its vectors.
SELECT m.id, m.seq, m.version, m.strength, m.pinned, m.kind, m.status, m.source, m.event_at, m.valid_from, m.valid_to,
    m.recorded_at, m.expired_at, m.last_seen, m.conversation, m.superseded_by, m.speaker, m.subject, m.attribute, m.value, m.text,
    m.analyzer, m.terms, e.v
FROM lightmem.memory m
LEFT JOIN LATERAL (
    SELECT v FROM lightmem.memory_vector x
    WHERE x.tenant = @tenant AND x.user_id = @user_id AND x.memory_id = m.id AND x.model = @model LIMIT 1
) e ON true
WHERE m.tenant = @tenant AND m.user_id = @user_id AND m.revision > @since;

-- name: ItemsAll :many
-- All live items, and the newest superseded ones.
SELECT m.id, m.seq, m.version, m.strength, m.pinned, m.kind, m.status, m.source, m.event_at, m.valid_from, m.valid_to,
    m.recorded_at, m.expired_at, m.last_seen, m.conversation, m.superseded_by, m.speaker, m.subject, m.attribute, m.value, m.text,
    m.analyzer, m.terms, e.v
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
SELECT m.id, m.seq, coalesce(h.version, m.version) AS version, coalesce(h.strength, m.strength) AS strength,
    coalesce(h.pinned, m.pinned) AS pinned, m.kind, coalesce(h.status, m.status) AS status, m.source, m.event_at, m.valid_from,
    CASE WHEN h.version IS NULL THEN m.valid_to ELSE h.valid_to END AS valid_to,
    m.recorded_at, CASE WHEN h.version IS NULL THEN m.expired_at ELSE h.expired_at END AS expired_at,
    coalesce(h.last_seen, m.last_seen) AS last_seen, m.conversation,
    CASE WHEN h.version IS NULL THEN m.superseded_by ELSE h.superseded_by END AS superseded_by,
    m.speaker, m.subject, m.attribute, m.value, m.text, m.analyzer, m.terms, e.v
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
