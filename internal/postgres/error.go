package postgres

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lightmem/lightmem/memory"
)

// ErrNotMigrated is in the chain of errors (CodeUnavailable) of a database that
// lacks what the migrations make.
var ErrNotMigrated = errors.New("the database is not migrated")

// attempts bounds how often one call is tried; the first waits between them
// are about 5, 10, 20, 40 ms. Whoever called may try again later, on the code.
const attempts = 5

// retrying calls f until it succeeds, fails for good, or attempts are used up.
// f must do all its work in one transaction, and do it once however often it is
// called: a connection can break after the server has committed.
func retrying(ctx context.Context, step string, f func(ctx context.Context) error) error {
	wait := 5 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if err == nil {
			return nil
		}
		own := wrap(err, step)
		if attempt == attempts || !passing(err) || ctx.Err() != nil {
			return own
		}
		timer := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return own
		case <-timer.C:
		}
		wait *= 2
	}
}

// passing reports whether the same call, made at once, may succeed: the server
// chose this transaction to give way, or the connection broke.
func passing(err error) bool {
	var own *memory.Error
	if errors.As(err, &own) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "40001", pg.Code == "40P01": // serialization failure, deadlock
			return true
		case pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery": // a migration changed a table under a prepared statement
			return true
		case pg.Code == "57P01", pg.Code == "57P02", pg.Code == "57P03", pg.Code[:2] == "08":
			return true
		}
		return false
	}
	return broken(err)
}

// broken reports that the connection failed, or was never made.
func broken(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return pgconn.SafeToRetry(err) || errors.As(err, &connect) ||
		errors.As(err, &network) && !network.Timeout() || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// wrap gives an error of the database its code and a safe message; the cause,
// which may quote people's words, stays in the chain for nobody but errors.As.
func wrap(err error, step string) error {
	var own *memory.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return memory.Wrap(memory.CodeTransient, err, "%s: took too long", step)
	case errors.Is(err, pgx.ErrNoRows):
		return memory.Wrap(memory.CodeNotFound, err, "%s: not found", step)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if broken(err) {
			return memory.Wrap(memory.CodeUnavailable, err, "%s: the database cannot be reached", step)
		}
		return memory.Wrap(memory.CodeInternal, err, "%s", step)
	}
	if unmigrated(pg) {
		return memory.Wrap(memory.CodeUnavailable, errors.Join(ErrNotMigrated, err), "the database is not migrated: run `lightmem migrate up`")
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && pg.Code != "57P03" { // a role, password or database that it does not know, not one that starts
		return memory.Wrap(memory.CodeUnavailable, err, "%s: the database does not let us in; is it migrated?", step)
	}
	switch pg.Code {
	case "23505":
		if pg.ConstraintName == "memory_content" { // the same again would fail in the same way
			return memory.Wrap(memory.CodeConflict, err, "%s: the same words are in memory already", step)
		}
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock timeout
		return memory.Wrap(memory.CodeTransient, err, "%s: others were writing at the same time", step)
	case "57014", "25P03", "25P04": // statement, idle, transaction timeout
		return memory.Wrap(memory.CodeTransient, err, "%s: took too long", step)
	case "23502", "23514", "22001", "22003", "22008": // null, check, length, number, date
		return memory.Wrap(memory.CodeInvalid, err, "%s: a value is out of range (%s %s)", step, pg.TableName, pg.ConstraintName)
	case "42501": // insufficient privilege, row-level security
		return memory.Wrap(memory.CodeForbidden, err, "%s: not allowed", step)
	case "22021", "22P05": // a character that Postgres cannot store
		return memory.Wrap(memory.CodeInvalid, err, "%s: the text has a character that cannot be stored", step)
	case "42883", "42703": // function, column
		return memory.Wrap(memory.CodeUnavailable, err, "%s: the database's schema is not the one this program needs; is it migrated?", step)
	}
	switch pg.Code[:2] {
	case "08", "53", "57", "58": // connection, resources, operator, system
		return memory.Wrap(memory.CodeUnavailable, err, "%s: the database is not available", step)
	}
	// The state and the names in the schema tell an operator where to look, and
	// hold nothing that a person wrote.
	return memory.Wrap(memory.CodeInternal, err, "%s: SQLSTATE %s %s %s", step, pg.Code, pg.TableName, pg.ConstraintName)
}

// unmigrated reports that what the first migration makes is missing. Which of
// it shows first depends on what else the cluster has: the role to connect as,
// the type halfvec (both "undefined object"), the schema, or a table.
func unmigrated(pg *pgconn.PgError) bool {
	switch pg.Code {
	case "42704", "3F000", "42P01":
		return true
	case "22023": // the start-up parameter role
		return strings.HasPrefix(pg.Message, "role ")
	}
	return false
}
