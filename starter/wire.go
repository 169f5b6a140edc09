package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/sdk/client"

	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// liveTurns are turns over a connection of their own.
type liveTurns struct{ temporalio.Turns }

// Close closes the connection.
func (t liveTurns) Close() { t.Client.Close() }

// Ping asks Temporal's own health check.
func (t liveTurns) Ping(ctx context.Context) error {
	_, err := t.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return memory.Wrap(memory.CodeUnavailable, err, "ask Temporal")
}

// dialTurns connects to Temporal.
func dialTurns(ctx context.Context, c *config.Config) (turns, error) {
	master, err := secret.Open(c.MasterKeyFile, c.StateDir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, temporalio.DialTimeout)
	defer cancel()
	conn, err := temporalio.Dial(ctx, temporalio.Options{
		Address: c.Temporal.Address, Namespace: c.Temporal.Namespace, Master: master,
		Logger: slog.New(slog.DiscardHandler), // its errors come back to us
	})
	if err != nil {
		return nil, err
	}
	return liveTurns{temporalio.Turns{Client: conn, Master: master}}, nil
}

// schemaMigrations applies package schema's migrations.
type schemaMigrations struct{}

func (schemaMigrations) Up(ctx context.Context, url string) error {
	return reached(schema.Migrate(ctx, url))
}

func (schemaMigrations) Down(ctx context.Context, url string, to int64) error {
	return reached(schema.Down(ctx, url, to))
}

func (schemaMigrations) Version(ctx context.Context, url string) (int64, error) {
	version, err := schema.Version(ctx, url)
	return version, reached(err)
}

func (schemaMigrations) Latest() int64 { return schema.Latest() }

// reached says more about a database that cannot be reached: pgx's own message
// names host, user and database and no secret, and an operator needs it.
func reached(err error) error {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && !errors.Is(err, postgres.ErrNotMigrated) { // the missing role is a refusal to connect, too
		return memory.Wrap(memory.CodeUnavailable, err, "%s (is it running? `make up` starts one; set LIGHTMEM_DATABASE_URL for yours)", strings.Join(strings.Fields(connect.Error()), " "))
	}
	return err
}
