-- What forgetting needs to take words out of the records that explain turns,
-- and what the auditor needs to hold memories against their last events.

-- +goose Up
-- Only the words go: an event, a refusal and a receipt stay on record, and
-- texts that were removed without an event that says so show at verification.
GRANT DELETE ON lightmem.audit_content TO lightmem_app;
GRANT UPDATE (text) ON lightmem.refusal TO lightmem_app;
GRANT UPDATE (receipt) ON lightmem.applied_effect TO lightmem_app;

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
REVOKE UPDATE (receipt) ON lightmem.applied_effect FROM lightmem_app;
REVOKE UPDATE (text) ON lightmem.refusal FROM lightmem_app;
REVOKE DELETE ON lightmem.audit_content FROM lightmem_app;
