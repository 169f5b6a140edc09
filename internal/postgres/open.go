package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// Options configures a Store.
type Options struct {
	// Capacity is B, how many live memories a user may have.
	// Defaults to memory.DefaultCapacity.
	Capacity int
	// ContextTokens is the budget of the short-term context C_t.
	// Defaults to memory.DefaultContextTokens; negative keeps none.
	ContextTokens int
	// MaxConns bounds the pool. Defaults to 16.
	MaxConns int
	// Name is the application_name that the server's statistics show.
	// Defaults to "lightmem".
	Name string
	// Role is whom the connections work as. Defaults to schema.RoleApp.
	Role schema.Role
	// StatementTimeout bounds one statement. Defaults to 10 s.
	StatementTimeout time.Duration
	// URL is the database's address. Its user is the owner, who may become
	// Role, or Role itself where that has a password (schema.SetPassword).
	URL string
}

// Store keeps turns and memories in Postgres. It is safe for concurrent use.
type Store struct {
	pool          *pgxpool.Pool
	capacity      int
	contextTokens int
	listener      *listener
	users         userLocks
}

// Open connects to a migrated database. The database must be there: an address
// that is wrong, a schema that is too old, and a role that could bypass
// row-level security are errors.
func Open(ctx context.Context, o Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "database_url", Message: "is no Postgres address", Cause: err}
	}
	if o.Capacity < 0 {
		return nil, memory.Invalid("capacity", "must not be negative")
	}
	role := cmp.Or(o.Role, schema.RoleApp)
	timeout := cmp.Or(o.StatementTimeout, 10*time.Second)
	config.MaxConns = int32(min(cmp.Or(max(o.MaxConns, 0), 16), 1000))
	config.MinIdleConns = min(2, config.MaxConns)
	config.MaxConnIdleTime = 10 * time.Minute
	config.MaxConnLifetime = time.Hour
	config.MaxConnLifetimeJitter = 10 * time.Minute
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	parameters := config.ConnConfig.RuntimeParams
	parameters["application_name"] = cmp.Or(o.Name, "lightmem")
	// AGE's operators need its schema in the path; last, so that it hides nothing.
	parameters["search_path"] = "lightmem, public, ag_catalog"
	// As a start-up parameter the role is what RESET ROLE returns to.
	parameters["role"] = string(role)
	parameters["timezone"] = "UTC"
	parameters["statement_timeout"] = milliseconds(timeout)
	parameters["lock_timeout"] = milliseconds(timeout / 2)
	parameters["idle_in_transaction_session_timeout"] = milliseconds(timeout)
	// Our statements look up by key: one plan fits all values, and planning a
	// join under row-level security again each time costs more than running it.
	parameters["plan_cache_mode"] = "force_generic_plan"
	halfvec := &atomic.Uint32{}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return registerHalfvec(ctx, conn, halfvec) }

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, wrap(err, "open the database")
	}
	s := &Store{pool: pool, capacity: cmp.Or(o.Capacity, memory.DefaultCapacity), contextTokens: max(cmp.Or(o.ContextTokens, memory.DefaultContextTokens), 0)}
	s.listener = newListener(ctx, config.ConnConfig.Copy())
	if err := s.check(ctx, role); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes all connections. Calls in progress end first.
func (s *Store) Close() {
	s.listener.close()
	s.pool.Close()
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return wrap(s.pool.Ping(ctx), "ping the database")
}

// check refuses a database that is not migrated, and connections that
// row-level security does not bind.
func (s *Store) check(ctx context.Context, role schema.Role) error {
	return retrying(ctx, "check the database", func(ctx context.Context) error {
		var current string
		var version int64
		var unbound, owner bool
		err := s.pool.QueryRow(ctx, `
			SELECT current_user, (SELECT coalesce(max(version_id), 0) FROM public.lightmem_schema_version),
				(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
				EXISTS (SELECT FROM pg_class WHERE relnamespace = 'lightmem'::regnamespace AND pg_has_role(current_user, relowner, 'USAGE'))`,
		).Scan(&current, &version, &unbound, &owner)
		switch {
		case err != nil:
			return err
		case version < schema.Latest():
			return memory.Errorf(memory.CodeUnavailable, "the database's schema is version %d, this program needs %d: run `lightmem migrate up`", version, schema.Latest())
		case current != string(role), unbound, owner:
			return memory.Errorf(memory.CodeForbidden, "the database connection works as %q, which row-level security does not bind; it must be %q", current, role)
		}
		return nil
	})
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// scoped starts a pipeline for the scope of ctx.
func scoped(ctx context.Context) (*pipeline, memory.Scope, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return nil, memory.Scope{}, err
	}
	if len(scope.Tenant) > memory.MaxIDBytes || len(scope.User) > memory.MaxIDBytes {
		return nil, memory.Scope{}, memory.Invalid("user", "tenant and user must have at most %d bytes", memory.MaxIDBytes)
	}
	p := &pipeline{}
	p.enter(ctx, scope)
	return p, scope, nil
}

// enter names the transaction's tenant and user.
func (p *pipeline) enter(ctx context.Context, scope memory.Scope) {
	p.add(func(q *query.Queries) error {
		return q.EnterScope(ctx, query.EnterScopeParams{Tenant: string(scope.Tenant), UserID: string(scope.User)})
	})
}

// once builds a pipeline for the scope of ctx and sends it, as one transaction
// in one round trip; again where that may help.
func (s *Store) once(ctx context.Context, step string, build func(p *pipeline, scope memory.Scope)) error {
	return retrying(ctx, step, func(ctx context.Context) error {
		p, scope, err := scoped(ctx)
		if err != nil {
			return err
		}
		build(p, scope)
		return p.send(ctx, s.pool)
	})
}

// locked runs f in a transaction over a connection of its own, while nobody
// else of this process changes the scope's memory. f sends one or more
// pipelines, of which the first begins with "begin" and the last ends with
// "commit".
func (s *Store) locked(ctx context.Context, step string, scope memory.Scope, f func(ctx context.Context, conn sender) error) error {
	release, err := s.users.acquire(ctx, scope)
	if err != nil {
		return wrap(err, step)
	}
	defer release()
	return retrying(ctx, step, func(ctx context.Context) error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("acquire a connection: %w", err)
		}
		defer conn.Release() // closes it when a transaction is still open
		return f(ctx, conn)
	})
}
