-- name: AuditHead :one
SELECT seq, hash FROM lightmem.audit_head WHERE tenant = @tenant;

-- name: AuditPage :many
-- Events with their texts. Of an event whose texts are gone, excused says that
-- an event since allows it; of one that made a memory, lost says that the
-- memory is gone and no event says why.
SELECT sqlc.embed(a), c.salt, c.before, c.after,
    (CASE WHEN c.id IS NULL THEN EXISTS (
        SELECT FROM lightmem.audit_event f
        WHERE f.tenant = @tenant AND f.user_id = a.user_id AND f.memory_id = a.memory_id AND f.seq >= a.seq
            AND f.event IN ('forgotten', 'erased'))
        OR EXISTS (
        SELECT FROM lightmem.audit_event f
        WHERE f.tenant = @tenant AND f.user_id = a.user_id AND f.memory_id = '' AND f.seq >= a.seq AND f.event = 'erased')
        ELSE false END)::boolean AS excused,
    (CASE WHEN a.memory_id <> '' AND a.before_digest = '' AND a.after_digest <> '' THEN NOT EXISTS (
        SELECT FROM lightmem.memory m WHERE m.tenant = @tenant AND m.user_id = a.user_id AND m.id = a.memory_id)
        AND NOT EXISTS (
        SELECT FROM lightmem.audit_event f
        WHERE f.tenant = @tenant AND f.user_id = a.user_id AND f.memory_id IN ('', a.memory_id) AND f.seq >= a.seq AND f.event = 'erased')
        ELSE false END)::boolean AS lost
FROM lightmem.audit_event a
LEFT JOIN lightmem.audit_content c ON c.tenant = @tenant AND c.user_id = a.user_id AND c.id = a.content
WHERE a.tenant = @tenant AND a.seq > @after_seq
ORDER BY a.seq
LIMIT @max_items::int;

-- name: AuditMemories :many
-- A page of a tenant's memories as they are, each with its last event; seq is 0
-- where there is none.
SELECT m.user_id, m.id, m.strength, m.pinned, m.kind, m.status, m.source, m.event_at, m.valid_from, m.valid_to, m.recorded_at, m.expired_at,
    m.last_seen, m.conversation, m.superseded_by, m.speaker, m.subject, m.attribute, m.value, m.text, m.metadata,
    coalesce(l.seq, 0)::bigint AS seq, coalesce(l.event, '')::text AS event, coalesce(l.after, '')::text AS after
FROM lightmem.memory m
LEFT JOIN LATERAL (
    SELECT a.seq, a.event, c.after
    FROM lightmem.audit_event a
    LEFT JOIN lightmem.audit_content c ON c.tenant = @tenant AND c.user_id = a.user_id AND c.id = a.content
    WHERE a.tenant = @tenant AND a.user_id = m.user_id AND a.memory_id = m.id
    ORDER BY a.seq DESC LIMIT 1
) l ON true
WHERE m.tenant = @tenant AND (m.user_id, m.id) > (@after_user::text, @after_id::text)
ORDER BY m.user_id, m.id
LIMIT @max_items::int;
