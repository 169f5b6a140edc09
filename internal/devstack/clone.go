package devstack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// NewDatabase makes a database on the server at address and returns its own
// address. It is empty but for the extensions age and vector, or, with a fill,
// a clone of a database that fill prepared: fill runs once for each name and
// server, however many processes ask, so name must change with what fill does
// (a hash of the migrations, say).
func NewDatabase(ctx context.Context, address, name string, fill func(ctx context.Context, address string) error) (string, error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return "", fmt.Errorf("connect to Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	template := templateDatabase
	if err := ensureTemplate(ctx, conn, template, "", addExtensions); err != nil {
		return "", err
	}
	if fill != nil {
		sum := sha256.Sum256([]byte(name))
		template = "template_" + hex.EncodeToString(sum[:12])
		if err := ensureTemplate(ctx, conn, template, templateDatabase, fill); err != nil {
			return "", err
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:])
	database := "test_" + hex.EncodeToString(random[:])
	if err := cloneDatabase(ctx, conn, template, database); err != nil {
		return "", err
	}
	if err := setDatabaseDefaults(ctx, conn, database); err != nil {
		return "", err
	}
	return withDatabase(address, database), nil
}

// DropDatabase ends all sessions in the database that address names and removes
// it; server is an address of another database of the same server.
func DropDatabase(ctx context.Context, server, address string) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return fmt.Errorf("read the database's address: %w", err)
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(config.Database)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", config.Database, err)
	}
	return nil
}
