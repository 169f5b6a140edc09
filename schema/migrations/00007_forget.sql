-- What forgetting needs to take words out of the records that explain turns,
-- and what the auditor needs to hold memories against their last events.

-- +goose Up
-- Only the words go: an event, a refusal and a receipt stay on record, and
-- texts that were removed without an event that says so show at verification.
GRANT UPDATE (text) ON lightmem.refusal TO lightmem_app;
GRANT UPDATE (receipt) ON lightmem.applied_effect TO lightmem_app;

-- erase_audit_content removes the texts before and after of all events of
-- memories that are forgotten; the events and their digests stay. The texts of
-- others are out of the application's reach.
-- +goose StatementBegin
CREATE FUNCTION lightmem.erase_audit_content(memory_ids text[]) RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM lightmem.audit_content c
    USING lightmem.memory m, lightmem.audit_event a
    WHERE m.tenant = current_setting('lightmem.tenant', true) AND m.user_id = current_setting('lightmem.user', true)
        AND m.id = ANY (memory_ids) AND m.status = 'forgotten'
        AND a.tenant = m.tenant AND a.user_id = m.user_id AND a.memory_id = m.id
        AND c.tenant = m.tenant AND c.user_id = m.user_id AND c.id = a.content
        AND (c.before <> '' OR c.after <> '')
$$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION lightmem.erase_audit_content(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lightmem.erase_audit_content(text[]) TO lightmem_app;

-- The columns that the audit's texts have as well; nothing that the auditor
-- could not read there.
CREATE POLICY audit ON lightmem.memory FOR SELECT TO lightmem_auditor USING (
    tenant = (SELECT current_setting('lightmem.tenant', true)));
GRANT SELECT (tenant, user_id, id, strength, pinned, kind, status, source, event_at, valid_from, valid_to, recorded_at, expired_at,
    last_seen, conversation, superseded_by, speaker, subject, attribute, value, text, metadata) ON lightmem.memory TO lightmem_auditor;

-- +goose Down
REVOKE SELECT (tenant, user_id, id, strength, pinned, kind, status, source, event_at, valid_from, valid_to, recorded_at, expired_at,
    last_seen, conversation, superseded_by, speaker, subject, attribute, value, text, metadata) ON lightmem.memory FROM lightmem_auditor;
DROP POLICY audit ON lightmem.memory;
DROP FUNCTION lightmem.erase_audit_content(text[]);
REVOKE UPDATE (receipt) ON lightmem.applied_effect FROM lightmem_app;
REVOKE UPDATE (text) ON lightmem.refusal FROM lightmem_app;
