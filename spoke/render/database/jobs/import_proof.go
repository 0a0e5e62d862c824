package jobs

// The proofs read all of the data, and set read_by to what they have read it with. Another attempt reads the same: what is
// damaged ends the Job.
const (
	// postgreSQLProof needs the server. A checker of the server's version is only in images that have it: the fallback reads
	// each row for a dump, and checks the indexes where the extension is there.
	postgreSQLProof = `
# damaged ends with what a checker wrote. What it could not ask for says nothing about the data.
damaged() {
  cat /tmp/proof.log >&2
  said=$(head -c 300 /tmp/proof.log | tr '\n' ' ')
  if grep -q -e 'does not exist' -e 'connection to server' -e 'closed the connection' -e 'out of memory' -e 'No space left' /tmp/proof.log; then
    fail 1 "the data could not be read to its end: $said"
  fi
  refuse 23 "the data is damaged: $said"
}
# without_names reports whether a check failed because it does not find what an index calls. Checkers search in no schema.
without_names() { grep -q 'does not exist' /tmp/proof.log; }
# indexes checks the indexes of the database $name, and, if $1 is true, that they have each row.
indexes() {
  run "$name" --set=entries="$1" >/tmp/proof.log 2>&1 <<'SQL'
CREATE EXTENSION IF NOT EXISTS amcheck WITH SCHEMA pg_catalog;
SELECT bt_index_parent_check(c.oid, :'entries'::boolean) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
  WHERE a.amname = 'btree' AND c.relpersistence = 'p' AND c.relkind = 'i' AND i.indisvalid AND i.indisready;
SQL
}
prove() {
  read_by=pg_dump
  amcheck=$(run postgres --command="SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'")
  if [ "$server" -ge 14 ] && [ "$amcheck" = 1 ] && command -v pg_amcheck >/dev/null; then
    read_by=pg_amcheck
    for entries in --heapallindexed ''; do
      status=0
      PGOPTIONS='-c default_transaction_read_only=off -c statement_timeout=0 -c session_preload_libraries= -c client_min_messages=warning' pg_amcheck \
        --host=/tmp --port=5432 --username=postgres --no-password --all --install-missing --parent-check $entries >/tmp/proof.log 2>&1 || status=$?
      [ "$status" -eq 2 ] && without_names || break
    done
    [ "$status" -ne 2 ] || damaged
    [ "$status" -eq 0 ] || fail 1 "pg_amcheck does not end: $(head -c 300 /tmp/proof.log | tr '\n' ' ')"
  else
    run postgres --command='SELECT datname FROM pg_database WHERE datallowconn' >/tmp/proof_databases
    while IFS= read -r name; do
      if [ "$amcheck" = 1 ] && [ "$server" -ge 11 ]; then
        read_by='pg_dump and amcheck'
        indexes true || { without_names && indexes false; } || damaged
      fi
      PGDATABASE=$name PGOPTIONS='-c statement_timeout=0 -c session_preload_libraries=' pg_dump --host=/tmp --port=5432 --username=postgres \
        --no-password >/dev/null 2>/tmp/proof.log || damaged
    done </tmp/proof_databases
  fi
}
[ -z "${PROVE:-}" ] || prove
`

	// postgreSQLSums needs a server that was shut down. Checksums are there if initdb was asked for them.
	postgreSQLSums = `
if [ -n "${PROVE:-}" ] && command -v pg_checksums >/dev/null && LC_ALL=C pg_controldata "$PGDATA" | grep -q '^Data page checksum version: *[1-9]'; then
  pg_checksums --check --pgdata="$PGDATA" >/tmp/proof.log 2>&1 || damaged
  read_by="$read_by and pg_checksums"
fi
`

	// mySQLProof needs the server. A table whose engine cannot check it has a note.
	mySQLProof = `
if [ -n "${PROVE:-}" ]; then
  run --raw >/tmp/proof.sql <<'SQL'
SELECT CONCAT('CHECK TABLE ', CHAR(96), REPLACE(TABLE_SCHEMA, CHAR(96), REPEAT(CHAR(96), 2)), CHAR(96), '.', CHAR(96),
    REPLACE(TABLE_NAME, CHAR(96), REPEAT(CHAR(96), 2)), CHAR(96), ';')
  FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys');
SQL
  if ! run </tmp/proof.sql >/tmp/proof.log; then
    kill -0 "$server" 2>/dev/null || ended
    fail 1 "the tables cannot be checked"
  fi
  tab=$(printf '\t')
  if grep -v -i -e "${tab}check${tab}status${tab}OK\$" -e "${tab}check${tab}note${tab}" -e "${tab}check${tab}warning${tab}" /tmp/proof.log >/tmp/proof.bad; then
    cat /tmp/proof.bad >&2
    refuse 23 "the data is damaged: $(head -c 300 /tmp/proof.bad | tr '\n\t' '  ')"
  fi
  read_by='CHECK TABLE'
fi
`

	// proven ends both scripts.
	proven = `
if [ -n "${PROVE:-}" ]; then
  [ -z "${reached:-}" ] || read_by="$read_by; it reaches the position that the backup recorded, $(printf %s "$reached" | head -c 150)"
  { echo "$read_by" >/dev/termination-log; } 2>/dev/null || true
  echo "all data was read by $read_by"
fi
`
)
