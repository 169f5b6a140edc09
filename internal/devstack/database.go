package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// ensureTemplate makes the database name once, as a clone of base (empty: of
// Postgres's own template), filled by fill. Of several processes one fills and
// the others wait. A database that is half filled is not marked as a template,
// and the next call makes it anew.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, name, base string, fill func(ctx context.Context, address string) error) error {
	// A session lock, because CREATE DATABASE cannot run in a transaction.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return fmt.Errorf("lock template %s: %w", name, err)
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtextextended($1, 0))", name) //nolint:errcheck // the session's end unlocks too
	var whole bool
	err := conn.QueryRow(ctx, "SELECT datistemplate FROM pg_database WHERE datname = $1", name).Scan(&whole)
	switch {
	case err == nil && whole:
		return nil
	case err == nil:
		if _, err := conn.Exec(ctx, "DROP DATABASE "+quote(name)+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop unfinished template %s: %w", name, err)
		}
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("look for template %s: %w", name, err)
	}
	if base == "" {
		base = "template0"
	}
	if err := cloneDatabase(ctx, conn, base, name); err != nil {
		return err
	}
	if base != "template0" {
		if err := setDatabaseDefaults(ctx, conn, name); err != nil {
			return err
		}
	}
	if err := fill(ctx, inDatabase(conn, name)); err != nil {
		return fmt.Errorf("fill template %s: %w", name, err)
	}
	// No connections: cloning needs the template to be idle.
	if _, err := conn.Exec(ctx, "ALTER DATABASE "+quote(name)+" WITH IS_TEMPLATE true"); err != nil {
		return fmt.Errorf("mark template %s: %w", name, err)
	}
	return nil
}

// addExtensions creates AGE and pgvector in a database.
func addExtensions(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, extension := range []string{"vector", "age"} {
		if _, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS "+extension); err != nil {
			return fmt.Errorf("create extension %s: %w", extension, err)
		}
	}
	return nil
}

func cloneDatabase(ctx context.Context, conn *pgx.Conn, template, name string) error {
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template)); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// setDatabaseDefaults makes AGE work for everybody in a database: its library
// is loaded with each session (LOAD is a superuser's), and its schema is in the
// search path, last, so that no table lands there by mistake. Settings of a
// database are not cloned with it.
func setDatabaseDefaults(ctx context.Context, conn *pgx.Conn, name string) error {
	for _, setting := range []string{"session_preload_libraries = 'age'", `search_path = "$user", public, ag_catalog`} {
		if _, err := conn.Exec(ctx, "ALTER DATABASE "+quote(name)+" SET "+setting); err != nil {
			return fmt.Errorf("set defaults of database %s: %w", name, err)
		}
	}
	return nil
}

// inDatabase is the address of conn with another database.
func inDatabase(conn *pgx.Conn, name string) string {
	return withDatabase(conn.Config().ConnString(), name)
}

// withDatabase replaces the database in a connection string.
func withDatabase(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme == "" {
		// A list of key=value: of two the last counts.
		return address + " dbname=" + name
	}
	parsed.Path = "/" + name
	return parsed.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
