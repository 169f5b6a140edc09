// Package devstack sets up and runs the real parts that LightMem needs, on a
// machine that has Go, git and the package registries and nothing else:
// Postgres with Apache AGE and pgvector, a Temporal server with its UI, and the
// servers of the small models.
//
// # From the command line
//
//	go run ./deploy/stack up       fetch, build and start what is missing
//	go run ./deploy/stack status   what runs, where, since when
//	go run ./deploy/stack env      the addresses, as lines for a shell
//	go run ./deploy/stack down     stop what up started, and nothing else
//
// # From a test
//
// Tests use the package stacktest, which starts what is missing and gives each
// test its own database:
//
//	url := stacktest.Postgres(t)                        // empty database with both extensions
//	url := stacktest.PostgresFrom(t, "schema-3", migrate) // clone of a database prepared once
//	addr := stacktest.Temporal(t)                       // host:port of the shared server
//	host := stacktest.Ollama(t)                         // http://host:port
//	base := stacktest.OpenAI(t)                         // http://host:port/v1
//
// A test that kills or restarts a part takes one of its own:
//
//	pg := stacktest.PrivatePostgres(t)   // pg.URL, pg.Kill, pg.Stop, pg.Start
//	tp := stacktest.PrivateTemporal(t)   // tp.Address, tp.Kill, tp.Stop, tp.Start
//
// # What it uses instead, where it is there
//
//	LIGHTMEM_DATABASE_URL       a Postgres 17 with the extensions age and vector, reached as a superuser
//	TEMPORAL_ADDRESS            a Temporal server (and TEMPORAL_NAMESPACE, "default" if unset)
//	OLLAMA_HOST                 an Ollama server that runs; else an ollama on PATH is started
//	LIGHTMEM_OPENAI_BASE_URL    any OpenAI-compatible server
//
// A server that is named there is checked, never started or stopped.
//
// # Where things are
//
// What is fetched or built lies in one cache that all checkouts share
// ($LIGHTMEM_CACHE, else $XDG_CACHE_HOME/lightmem, else ~/.cache/lightmem).
// An entry appears there by a rename once it is whole and, where it was
// fetched, its SHA-256 is right; one process fills it while others wait. What
// one running stack owns lies in its state folder ($LIGHTMEM_STATE, else
// $XDG_STATE_HOME/lightmem, else ~/.local/state/lightmem): data, logs, process
// records, ports, the database password and lightmem.env with the addresses.
package devstack
