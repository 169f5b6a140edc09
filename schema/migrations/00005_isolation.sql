-- Row-level security and rights.
--
-- Each transaction names its tenant and user in the settings lightmem.tenant
-- and lightmem.user. A row is visible, and may be written, only where both
-- agree. A setting that is missing or empty agrees with no row, because ids
-- are never empty. FORCE makes the policies bind the tables' owner, too.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_catalog.pg_class
        WHERE relnamespace = 'lightmem'::regnamespace AND relkind IN ('r', 'p') LOOP
        EXECUTE format('ALTER TABLE lightmem.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE lightmem.%I FORCE ROW LEVEL SECURITY', name);
    END LOOP;
    -- The settings are read once a statement, by way of the sub-selects.
    FOREACH name IN ARRAY ARRAY['app_user', 'conversation', 'turn', 'memory', 'memory_version', 'memory_evidence',
        'memory_use', 'memory_vector', 'refusal', 'applied_effect', 'answer_stream', 'audit_event', 'audit_content'] LOOP
        EXECUTE format($policy$
            CREATE POLICY scope ON lightmem.%I FOR ALL USING (
                tenant = (SELECT current_setting('lightmem.tenant', true))
                AND user_id = (SELECT current_setting('lightmem.user', true)))
        $policy$, name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['tenant', 'audit_head'] LOOP
        EXECUTE format($policy$
            CREATE POLICY scope ON lightmem.%I FOR ALL USING (
                tenant = (SELECT current_setting('lightmem.tenant', true)))
        $policy$, name);
    END LOOP;
    -- The auditor reads the audit of a whole tenant.
    FOREACH name IN ARRAY ARRAY['audit_event', 'audit_content'] LOOP
        EXECUTE format($policy$
            CREATE POLICY audit ON lightmem.%I FOR SELECT TO lightmem_auditor USING (
                tenant = (SELECT current_setting('lightmem.tenant', true)))
        $policy$, name);
    END LOOP;
END
$$;
-- +goose StatementEnd

GRANT SELECT, INSERT ON lightmem.tenant TO lightmem_app;
GRANT SELECT, INSERT, UPDATE ON lightmem.app_user, lightmem.conversation, lightmem.turn, lightmem.memory,
    lightmem.memory_evidence, lightmem.memory_use, lightmem.memory_vector TO lightmem_app;
GRANT SELECT, INSERT ON lightmem.memory_version, lightmem.refusal, lightmem.applied_effect,
    lightmem.answer_stream, lightmem.audit_event, lightmem.audit_content TO lightmem_app;
GRANT DELETE ON lightmem.memory_vector, lightmem.refusal, lightmem.answer_stream TO lightmem_app;
GRANT SELECT ON lightmem.audit_event, lightmem.audit_content, lightmem.audit_head TO lightmem_auditor;

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE
    p record;
BEGIN
    FOR p IN SELECT polname, relname FROM pg_catalog.pg_policy JOIN pg_catalog.pg_class ON pg_class.oid = polrelid
        WHERE relnamespace = 'lightmem'::regnamespace LOOP
        EXECUTE format('DROP POLICY %I ON lightmem.%I', p.polname, p.relname);
    END LOOP;
    FOR p IN SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = 'lightmem'::regnamespace AND relkind IN ('r', 'p') LOOP
        EXECUTE format('ALTER TABLE lightmem.%I NO FORCE ROW LEVEL SECURITY', p.relname);
        EXECUTE format('ALTER TABLE lightmem.%I DISABLE ROW LEVEL SECURITY', p.relname);
        EXECUTE format('REVOKE ALL ON lightmem.%I FROM lightmem_app, lightmem_auditor', p.relname);
    END LOOP;
END
$$;
-- +goose StatementEnd
