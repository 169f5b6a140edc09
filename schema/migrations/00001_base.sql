-- Extensions, schema and roles.
--
-- Roles belong to the cluster, tables to one database. So the roles are made
-- if they are missing, by whichever database is migrated first, and stay when
-- one database is migrated down.

-- +goose Up
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS age;

CREATE SCHEMA lightmem;

-- lightmem_app is what the product works as; lightmem_auditor reads the audit
-- tables of one whole tenant and nothing else. Neither owns anything, neither
-- may bypass row-level security. Two migrations of two databases may run at
-- once, hence the handlers.
-- +goose StatementBegin
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['lightmem_app', 'lightmem_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT', role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another database's migration was faster
            END;
        END IF;
        -- A superuser may become any role; everybody else must be a member.
        IF NOT pg_catalog.pg_has_role(current_user, role, 'SET') THEN
            BEGIN
                EXECUTE format('GRANT %I TO %I WITH INHERIT FALSE, SET TRUE', role, current_user);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN
                    NULL;
                WHEN insufficient_privilege THEN -- somebody else made the role
                    RAISE EXCEPTION 'an administrator must run: GRANT lightmem_app, lightmem_auditor TO %', current_user
                        USING ERRCODE = 'insufficient_privilege';
            END;
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

GRANT USAGE ON SCHEMA lightmem TO lightmem_app, lightmem_auditor;

-- What the product can do with the schema depends on its version, so it looks.
GRANT SELECT ON public.lightmem_schema_version TO lightmem_app, lightmem_auditor;

-- Cypher works only where AGE's library is loaded, and loading it is a
-- superuser's; this makes every session of this database load it. Without the
-- right to do so the database's administrator has to.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = %L', current_database(), 'age');
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'an administrator should run: ALTER DATABASE % SET session_preload_libraries = age', current_database();
END
$$;
-- +goose StatementEnd

-- +goose Down
REVOKE SELECT ON public.lightmem_schema_version FROM lightmem_app, lightmem_auditor;
DROP SCHEMA lightmem;
