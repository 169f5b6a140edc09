// Package schema is LightMem's database schema: numbered migrations in both
// directions, embedded, and the functions that apply them. Only the database's
// owner can apply them; the product itself works as RoleApp (see Role).
//
// The owner need not be a superuser, but then an administrator has to prepare
// the database once:
//
//	CREATE EXTENSION vector; CREATE EXTENSION age;
//	GRANT USAGE ON SCHEMA ag_catalog TO owner WITH GRANT OPTION;
//	GRANT ALL ON ALL TABLES IN SCHEMA ag_catalog TO owner WITH GRANT OPTION;
//	ALTER DATABASE name SET session_preload_libraries = 'age';
//
// and the owner needs CREATEROLE, or the roles to be there and
// GRANT lightmem_app, lightmem_auditor TO owner.
package schema

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/lightmem/lightmem/memory"
)

//go:embed migrations/*.sql
var files embed.FS

// Role is a database role that the migrations make. Roles belong to the whole
// cluster and cannot log in unless SetPassword says so.
type Role string

// The roles. Neither owns a table, is a superuser, or may bypass row-level
// security.
const (
	// RoleApp is what the product works as. It sees and writes only the rows of
	// the tenant and user that a transaction names, and cannot change or remove
	// audit events.
	RoleApp Role = "lightmem_app"
	// RoleAuditor reads the audit of the tenant that a transaction names, and of
	// its memories what the audit has as well, to hold one against the other.
	RoleAuditor Role = "lightmem_auditor"
)

// table is where goose keeps which migrations were applied. It lies outside the
// schema "lightmem", which the first migration makes and the last one down drops.
const table = "public.lightmem_schema_version"

// lockID is the advisory lock under which migrations run, one process at a time.
const lockID int64 = 0x6c696768746d656d // "lightmem"

// Latest is the number of the newest migration.
func Latest() int64 {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil { // the pattern is constant and well formed
		panic(err)
	}
	return int64(len(names)) // numbered from 1 without gaps (tested)
}

// Hash identifies the whole set of migrations: the same hash, the same schema.
func Hash() string {
	h := sha256.New()
	_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(content), content)
		return err
	}) // reading from memory does not fail
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Migrate brings the database up to Latest. The address must be the owner's;
// making the extensions, where they are missing, takes a superuser. Migrations
// that run at the same time wait for each other.
func Migrate(ctx context.Context, address string) error {
	return with(ctx, address, func(p *goose.Provider, _ *sql.DB) error {
		_, err := p.Up(ctx)
		return wrap(err, "migrate the database up")
	})
}

// Down takes the database back to the given version, 0 for an empty database.
// It removes the data that the newer versions hold. Extensions and roles stay:
// they may have been there before, and other databases may use them.
func Down(ctx context.Context, address string, version int64) error {
	return with(ctx, address, func(p *goose.Provider, db *sql.DB) error {
		if _, err := p.DownTo(ctx, version); err != nil {
			return wrap(err, "migrate the database down")
		}
		if version > 0 {
			return nil
		}
		_, err := db.ExecContext(ctx, "DROP TABLE IF EXISTS "+table)
		return wrap(err, "drop the table of schema versions")
	})
}

// Version returns the number of the newest migration that was applied, 0 for a
// database that was never migrated.
func Version(ctx context.Context, address string) (int64, error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, wrap(err, "connect to the database")
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing to do about it
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&exists); err != nil || !exists {
		return 0, wrap(err, "look for the table of schema versions")
	}
	var version int64
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+table).Scan(&version)
	return version, wrap(err, "read the schema version")
}

// SetPassword lets a role log in with a password, for deployments in which the
// product does not know the owner's. An empty password takes the right to log
// in away again.
func SetPassword(ctx context.Context, address string, role Role, password string) error {
	if role != RoleApp && role != RoleAuditor {
		return memory.Invalid("role", "must be %s or %s", RoleApp, RoleAuditor)
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return wrap(err, "connect to the database")
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing to do about it
	// ALTER ROLE takes no parameters; the server itself quotes the password.
	var statement string
	err = conn.QueryRow(ctx, `SELECT CASE WHEN $2 = '' THEN format('ALTER ROLE %I NOLOGIN PASSWORD NULL', $1::text)
		ELSE format('ALTER ROLE %I LOGIN PASSWORD %L', $1::text, $2::text) END`, string(role), password).Scan(&statement)
	if err != nil {
		return wrap(err, "quote the password")
	}
	_, err = conn.Exec(ctx, statement)
	return wrap(err, "set the password of a role")
}

// with calls f with goose's provider over a connection of its own.
func with(ctx context.Context, address string, f func(*goose.Provider, *sql.DB) error) (err error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return memory.Wrap(memory.CodeInvalid, err, "read the database address")
	}
	// AGE's schema comes last: an unqualified table must not land there.
	config.RuntimeParams["search_path"] = "public, ag_catalog"
	config.RuntimeParams["application_name"] = "lightmem-migrate"
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := database.NewStore(database.DialectPostgres, table)
	if err != nil {
		return wrap(err, "prepare migrations")
	}
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		return wrap(err, "read migrations")
	}
	provider, err := goose.NewProvider("", db, migrations, goose.WithStore(store), goose.WithSessionLocker(locker{}))
	if err != nil {
		return wrap(err, "prepare migrations")
	}
	return f(provider, db)
}

// locker makes migrations wait for each other.
type locker struct{}

// SessionLock implements lock.SessionLocker.
func (locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lockID)
	return err
}

// SessionUnlock implements lock.SessionLocker.
func (locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lockID)
	return err
}

// wrap adds a safe message. What the server says about a migration is the
// operator's to see: its message names tables and roles; the detail, which may
// quote rows, is left out.
func wrap(err error, step string) error {
	if err == nil {
		return nil
	}
	code, hint := memory.CodeInternal, ""
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		code = memory.CodeUnavailable
	}
	var partial *goose.PartialError
	if errors.As(err, &partial) && partial.Failed != nil {
		hint = fmt.Sprintf(" (migration %d)", partial.Failed.Source.Version)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		hint += fmt.Sprintf(": %s (SQLSTATE %s)", pg.Message, pg.Code)
	}
	return memory.Wrap(code, err, "%s%s", step, hint)
}
