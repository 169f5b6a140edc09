-- The graph of long-term memory: its labels, indexes and unique keys. All of
-- them are made here, none by a write (apache/age#2179: concurrent writes of a
-- new label fail). Works with AGE 1.5 and later; 1.7 makes some of the indexes
-- itself, and having them twice is harmless.
--
-- A vertex or edge carries its tenant as a property; keys are unique within it.

-- +goose Up
SELECT ag_catalog.create_graph('ltm');
SELECT ag_catalog.create_vlabel('ltm', 'Entity');
SELECT ag_catalog.create_vlabel('ltm', 'Concept');
SELECT ag_catalog.create_elabel('ltm', 'IsA');
SELECT ag_catalog.create_elabel('ltm', 'HasProperty');
SELECT ag_catalog.create_elabel('ltm', 'RelatedTo');
SELECT ag_catalog.create_elabel('ltm', 'Implies');

-- The expressions must have exactly this form for Cypher's WHERE to use them.
-- +goose StatementBegin
DO $$
DECLARE
    label text;
BEGIN
    FOREACH label IN ARRAY ARRAY['Entity', 'Concept'] LOOP
        EXECUTE format('CREATE UNIQUE INDEX %I ON ltm.%I (id)', label || '_id', label);
        EXECUTE format($index$CREATE UNIQUE INDEX %I ON ltm.%I (
            ag_catalog.agtype_access_operator(properties, '"tenant"'::ag_catalog.agtype),
            ag_catalog.agtype_access_operator(properties, '"key"'::ag_catalog.agtype))$index$, label || '_key', label);
        EXECUTE format($check$ALTER TABLE ltm.%I ADD CONSTRAINT %I CHECK (
            ag_catalog.agtype_access_operator(properties, '"tenant"'::ag_catalog.agtype) IS NOT NULL
            AND ag_catalog.agtype_access_operator(properties, '"key"'::ag_catalog.agtype) IS NOT NULL)$check$, label, label || '_has_key');
    END LOOP;
    FOREACH label IN ARRAY ARRAY['IsA', 'HasProperty', 'RelatedTo', 'Implies'] LOOP
        EXECUTE format('CREATE UNIQUE INDEX %I ON ltm.%I (id)', label || '_id', label);
        EXECUTE format('CREATE UNIQUE INDEX %I ON ltm.%I (start_id, end_id)', label || '_ends', label);
        EXECUTE format('CREATE INDEX %I ON ltm.%I (end_id)', label || '_end', label);
        EXECUTE format($check$ALTER TABLE ltm.%I ADD CONSTRAINT %I CHECK (
            ag_catalog.agtype_access_operator(properties, '"tenant"'::ag_catalog.agtype) IS NOT NULL)$check$, label, label || '_has_tenant');
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Nothing crosses a tenant. The parents are closed as well: a pattern without a
-- label reads through them.
-- +goose StatementBegin
DO $$
DECLARE
    label text;
BEGIN
    FOREACH label IN ARRAY ARRAY['_ag_label_vertex', '_ag_label_edge', 'Entity', 'Concept', 'IsA', 'HasProperty', 'RelatedTo', 'Implies'] LOOP
        EXECUTE format('ALTER TABLE ltm.%I ENABLE ROW LEVEL SECURITY', label);
        EXECUTE format('ALTER TABLE ltm.%I FORCE ROW LEVEL SECURITY', label);
        EXECUTE format($policy$
            CREATE POLICY scope ON ltm.%I FOR ALL USING (
                ag_catalog.agtype_access_operator(properties, '"tenant"'::ag_catalog.agtype)
                = (SELECT to_json(nullif(current_setting('lightmem.tenant', true), ''))::text::ag_catalog.agtype))
        $policy$, label);
    END LOOP;
END
$$;
-- +goose StatementEnd

GRANT USAGE ON SCHEMA ag_catalog, ltm TO lightmem_app;
GRANT SELECT ON ag_catalog.ag_graph, ag_catalog.ag_label TO lightmem_app;
GRANT SELECT ON ltm._ag_label_vertex, ltm._ag_label_edge TO lightmem_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ltm."Entity", ltm."Concept", ltm."IsA", ltm."HasProperty", ltm."RelatedTo", ltm."Implies" TO lightmem_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA ltm TO lightmem_app;

-- +goose Down
REVOKE ALL ON ag_catalog.ag_graph, ag_catalog.ag_label FROM lightmem_app;
REVOKE USAGE ON SCHEMA ag_catalog FROM lightmem_app;
SELECT ag_catalog.drop_graph('ltm', true);
