-- name: AuditHead :one
SELECT seq, hash FROM lightmem.audit_head WHERE tenant = @tenant;

-- name: AuditPage :many
SELECT sqlc.embed(a), c.salt, c.before, c.after
FROM lightmem.audit_event a
LEFT JOIN lightmem.audit_content c ON c.tenant = @tenant AND c.user_id = a.user_id AND c.id = a.content
WHERE a.tenant = @tenant AND a.seq > @after_seq
ORDER BY a.seq
LIMIT @max_items::int;
