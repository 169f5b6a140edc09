// Package postgres keeps turns, memories and their audit in Postgres: it
// implements activities.TurnStore, activities.Streamer and retrieve.Source.
//
// # Isolation
//
// Every method takes the scope from its context (package tenant) and works in a
// transaction that names tenant and user for row-level security; every
// statement names them again. The connection works as schema.RoleApp, whoever
// it authenticates as: the role is part of the connection's start-up, so that
// even RESET ROLE and DISCARD ALL return to it, and Open refuses a connection
// whose role owns tables or may bypass row-level security.
//
// # Round trips
//
// A transaction is sent as a pipeline (type pipeline): reading, opening and
// recording a turn take one round trip each, a commit takes two. No connection
// is held between calls, and no model is called while one is.
//
// # Writes
//
// Whoever changes a user's memory holds the lock of the user's row. What
// happens more than once, because a step ran again, happened once: the effect's
// key is unique and written in the effect's own transaction.
package postgres

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
//go:generate go test ./query -run ^TestGeneratedCodeIsUpToDate$ -update
