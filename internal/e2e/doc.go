// Package e2e holds the tests of the whole: the real programs, a real Postgres
// with both extensions, a real Temporal server; only the replies of models are
// scripted where a case must be forced, over HTTP, so that the real adapters
// are in play.
package e2e
