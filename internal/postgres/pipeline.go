package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lightmem/lightmem/internal/postgres/query"
)

// pipeline sends many typed queries in one round trip. sqlc's functions send a
// query and read its result in one go, so each step runs twice: at first over a
// recorder, which notes the statement and fails with errRecorded, then over a
// player, which hands out the results in the same order. A step therefore calls
// exactly one query, returns its error at once, and uses the result only when
// there is none.
//
// Without a "begin" of its own a pipeline is one transaction: the server
// commits at its end, and nothing when any step failed.
type pipeline struct {
	steps []func(query.DBTX) error
}

// errRecorded ends a step's first run.
var errRecorded = errors.New("recorded, not sent")

// add appends a step.
func (p *pipeline) add(step func(q *query.Queries) error) {
	p.steps = append(p.steps, func(db query.DBTX) error { return step(query.New(db)) })
}

// statement appends a statement without parameters or result.
func (p *pipeline) statement(ctx context.Context, sql string) {
	p.steps = append(p.steps, func(db query.DBTX) error {
		_, err := db.Exec(ctx, sql)
		return err
	})
}

// rows appends a query whose rows read takes one by one, where a typed slice of
// them all would cost more than the query.
func (p *pipeline) rows(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) {
	p.steps = append(p.steps, func(db query.DBTX) error {
		rows, err := db.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if err := read(rows); err != nil {
			return err
		}
		return rows.Err()
	})
}

// sender is a connection or a pool.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// send runs the steps. The first error is returned; steps after it are not
// played.
func (p *pipeline) send(ctx context.Context, to sender) (err error) {
	rec := recorder{batch: &pgx.Batch{}}
	for _, step := range p.steps {
		n := rec.batch.Len()
		if err := step(rec); !errors.Is(err, errRecorded) {
			return err // the step gave up before it sent anything
		}
		if rec.batch.Len() != n+1 {
			return errors.New("pipeline: a step must send exactly one query")
		}
	}
	results := to.SendBatch(ctx, rec.batch)
	defer func() {
		if cerr := results.Close(); err == nil {
			err = cerr
		}
	}()
	play := player{results: results}
	for _, step := range p.steps {
		if err := step(play); err != nil {
			return err
		}
	}
	return nil
}

// recorder implements query.DBTX by noting statements.
type recorder struct{ batch *pgx.Batch }

func (r recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, errRecorded
}

func (r recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	r.batch.Queue(sql, args...)
	return nil, errRecorded
}

func (r recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.batch.Queue(sql, args...)
	return recordedRow{}
}

type recordedRow struct{}

func (recordedRow) Scan(...any) error { return errRecorded }

// player implements query.DBTX by handing out results in order.
type player struct{ results pgx.BatchResults }

func (p player) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return p.results.Exec()
}

func (p player) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.results.Query() }

func (p player) QueryRow(context.Context, string, ...any) pgx.Row { return p.results.QueryRow() }

// unlessMissing is err, but nil when it says that there is no such row.
func unlessMissing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
