#!/bin/bash
# Makes the cluster at the first start and runs the server. The cluster appears
# by a rename when both extensions are in it: a container that is killed in the
# middle starts anew.
set -euo pipefail

bin=/usr/lib/postgresql/17/bin
home=/var/lib/lightmem
data=$home/17
user=${POSTGRES_USER:-lightmem}
database=${POSTGRES_DB:-lightmem}

if [ ! -d "$data" ]; then
  : "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD must be set}"
  rm -rf "$home/new"
  "$bin/initdb" --pgdata="$home/new" --username="$user" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") \
    --encoding=UTF8 --locale=C.UTF-8 --locale-provider=builtin --builtin-locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256
  echo 'host all all all scram-sha-256' >> "$home/new/pg_hba.conf"
  # For the set-up the server listens on a socket in the folder only.
  "$bin/pg_ctl" --pgdata="$home/new" --wait --options="-c listen_addresses='' -c unix_socket_directories=$home" start
  run() { "$bin/psql" --host="$home" --username="$user" --no-psqlrc --set=ON_ERROR_STOP=1 --quiet "$@"; }
  run --dbname=postgres <<SQL
CREATE DATABASE "$database" TEMPLATE template0;
SQL
  run --dbname="$database" <<SQL
CREATE EXTENSION vector;
CREATE EXTENSION age;
ALTER DATABASE "$database" SET session_preload_libraries = 'age';
ALTER DATABASE "$database" SET search_path = "\$user", public, ag_catalog;
SQL
  "$bin/pg_ctl" --pgdata="$home/new" --wait --mode=fast stop
  mv "$home/new" "$data"
fi

# Statements hold people's words: they stay out of the log.
exec "$bin/postgres" -D "$data" \
  -c listen_addresses='*' -c unix_socket_directories="$home" \
  -c max_connections=200 -c shared_buffers="${POSTGRES_SHARED_BUFFERS:-512MB}" -c jit=off -c timezone=UTC \
  -c log_min_error_statement=panic -c dynamic_shared_memory_type=mmap "$@"
