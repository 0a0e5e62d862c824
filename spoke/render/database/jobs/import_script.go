package jobs

import "github.com/shopfleet/shopfleet/spoke/render/database"

const (
	// importBegin begins both scripts. The line of a refusal is the whole termination message; that of other failures
	// ends the log, which says more.
	importBegin = preamble + `
# refuse ends with the status $1 and a line for people, because another attempt cannot succeed.
refuse() {
  { echo "$2" >/dev/termination-log; } 2>/dev/null || true
  fail "$@"
}
`

	// loginRemedy ends the line of ExitOtherLogin.
	loginRemedy = `refer to a Secret with those of the data by spec.database.credentialsSecretRef`
	// noData ends the line of ExitNoData.
	noData = `the snapshot is of another volume, or the volume was not made from it`
	// older begins the line of ExitOlder.
	older = `the snapshot holds data that is older than the backup says, or of another database`
)

// postgreSQLImport recovers the data as from a backup, once, which gives it a new timeline, and otherwise with a
// configuration of its own: files of the source are not read, except for postgresql.auto.conf, whose
// settings are overridden where they could prevent the start. What the database itself needs, such as prepared
// transactions, is not: a database that could not start must fail here.
const postgreSQLImport = `# Gives data of PostgreSQL in a volume from a snapshot a new timeline. It can be interrupted and repeated at any point.
` + importBegin + `
[ -s "$PGDATA/PG_VERSION" ] || refuse 20 "the volume has no database of PostgreSQL: ` + noData + `"
files=$(cat "$PGDATA/PG_VERSION")
version=$(postgres --version)
server=$(printf '%s\n' "$version" | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
[ "$files" = "$server" ] ||
  refuse 22 "the data is of PostgreSQL $files, and the server is PostgreSQL $server: restore with spec.database.version $files"

# The server refuses files of another user. A namespace may have users of its own.
owner=$(stat -c %u "$PGDATA")
[ "$owner" = "$(id -u)" ] ||
  refuse 24 "the data belongs to the user $owner, and pods here run as $(id -u): restore where pods have the same user, or a dump"

# What another attempt has left has a later checkpoint: the first one compares.
if [ -n "${RECORDED:-}" ] && command -v pg_controldata >/dev/null; then
  ` + database.ControlFunctions + `
  control=$(LC_ALL=C pg_controldata "$PGDATA") || fail 1 "the control file cannot be read"
  system=$(control_of 'Database system identifier') timeline=$(control_of "Latest checkpoint's TimeLineID") position=$(control_of 'Latest checkpoint location')
  # Its fields are words.
  set -- $RECORDED
  if [ "$system" != "$1" ] || [ "$timeline" -lt "$2" ] || [ "$(number "$position")" -lt "$(number "$3")" ]; then
    refuse 25 "` + older + `: its last checkpoint is $system $timeline $position, and before the snapshot the database was at $RECORDED (system identifier, timeline, LSN)"
  fi
  reached=$RECORDED
fi

# run runs SQL as the administrator in the database $1. Settings of roles and databases do not apply.
run() {
  database=$1
  shift
  PGDATABASE=$database PGOPTIONS='-c search_path=pg_catalog -c default_transaction_read_only=off -c statement_timeout=0 -c session_preload_libraries=' \
    psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --host=/tmp --port=5432 --username=postgres "$@"
}

# The process that a pid file names was in another container. Here the number may be that of a process that lives.
rm -f "$PGDATA/postmaster.pid" "$PGDATA/standby.signal" "$PGDATA/recovery.signal" "$PGDATA/recovery.conf" "$PGDATA/recovery.done"

: >/tmp/import.conf
databases=all users=all
echo "local $databases $users trust" >/tmp/import_hba.conf
: >/tmp/import_ident.conf
options="-c config_file=/tmp/import.conf -c hba_file=/tmp/import_hba.conf -c ident_file=/tmp/import_ident.conf
  -c listen_addresses='' -c port=5432 -c unix_socket_directories=/tmp -c unix_socket_group='' -c unix_socket_permissions=0700
  -c shared_preload_libraries='' -c ssl=off -c logging_collector=off -c log_destination=stderr -c huge_pages=off -c shared_buffers=128MB
  -c hot_standby=off -c archive_mode=off -c synchronous_standby_names='' -c max_logical_replication_workers=0 -c autovacuum=off"
# Slots, which are dropped, must fit and have the WAL that they were made for.
options="$options -c wal_level=logical -c max_replication_slots=1000"
if [ "$server" -ge 12 ]; then
  options="$options -c restore_command=false -c recovery_end_command='' -c archive_cleanup_command='' -c primary_conninfo='' -c primary_slot_name=''
    -c recovery_target='' -c recovery_target_name='' -c recovery_target_time='' -c recovery_target_xid='' -c recovery_target_lsn=''
    -c recovery_target_timeline=current -c recovery_target_action=promote"
  : >"$PGDATA/recovery.signal"
else
  echo "restore_command = 'false'" >"$PGDATA/recovery.conf"
fi
pg_ctl start --pgdata="$PGDATA" --wait --timeout=86400 --options="$(echo "$options" | tr '\n' ' ')" ||
  fail 1 "the server does not start on the data: its log is above"
# pg_ctl does not wait for the end of a recovery without hot_standby, in which the server accepts no connection.
until pg_isready --quiet --host=/tmp --port=5432 --username=postgres --dbname=postgres; do
  pg_ctl status --pgdata="$PGDATA" >/dev/null || fail 1 "the server ended while it recovered the data: its log is above"
  sleep 1
done
[ "$(run postgres --command='SELECT pg_is_in_recovery()')" = f ] || fail 1 "the server did not end its recovery"

if [ -n "${APP_USER:-}" ] && [ -n "${APP_DATABASE:-}" ]; then
  found=$(run postgres --set=user="$APP_USER" --set=database="$APP_DATABASE" <<'SQL'
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :'user') AND EXISTS (SELECT FROM pg_database WHERE datname = :'database');
SQL
)
  [ "$found" = t ] || refuse 21 "the data does not have the user $APP_USER and the database $APP_DATABASE of the credentials: ` + loginRemedy + `"
  PGDATABASE=$APP_DATABASE psql --no-psqlrc --no-password --quiet --host=/tmp --port=5432 --username="$APP_USER" --command='SELECT 1' >/dev/null
fi

# Settings of a former replica, or of a recovery to a point in time, would reach the next replicas. Slots retain WAL
# for servers that follow the source.
run postgres <<'SQL'
SELECT DISTINCT format('ALTER SYSTEM RESET %I', name) FROM pg_file_settings WHERE sourcefile LIKE '%/postgresql.auto.conf'
  AND (name LIKE 'recovery\_target%' OR name IN ('primary_conninfo', 'primary_slot_name', 'restore_command', 'recovery_end_command', 'archive_cleanup_command')) \gexec
SELECT format('SELECT FROM pg_drop_replication_slot(%L)', slot_name) FROM pg_replication_slots \gexec
SQL
# The publisher of a subscription is that of the source, whose slots stay as they are: no name of it is left to connect to.
run postgres --command='SELECT datname FROM pg_database WHERE datallowconn AND oid IN (SELECT subdbid FROM pg_subscription)' >/tmp/import_databases
while IFS= read -r name; do
  run "$name" <<'SQL'
SELECT format(statement, subname) FROM pg_subscription, unnest(ARRAY[
    'ALTER SUBSCRIPTION %I DISABLE', 'ALTER SUBSCRIPTION %I CONNECTION ''host=/nowhere password=none''',
    'ALTER SUBSCRIPTION %I SET (slot_name = NONE)', 'DROP SUBSCRIPTION %I']) WITH ORDINALITY AS statements (statement, step)
  WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY subname, step \gexec
SQL
done </tmp/import_databases
` + postgreSQLProof + `
pg_ctl stop --pgdata="$PGDATA" --wait --timeout=86400 --mode=fast
` + postgreSQLSums + `
: >"$PGDATA` + database.RestoredSuffix + `"
rm -f "$PGDATA.logins"
sync
echo "the data is that of a new timeline"
` + proven

// mySQLImport starts the server without accounts, whose passwords are not known, and with the configuration of its
// image. The binary log is on, as in the source: a server that crashed while it committed recovers from it.
const mySQLImport = `# Gives data of MySQL in a volume from a snapshot a new server UUID. It can be interrupted and repeated at any point.
` + importBegin + `
data=/var/lib/mysql/data
socket=/tmp/import.sock
[ -d "$data/mysql" ] || refuse 20 "the volume has no database of MySQL: ` + noData + `"

# run runs SQL. Backslashes are what they look like.
run() {
  { echo "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');" && cat; } |
    mysql --protocol=socket --socket="$socket" --user=root --default-character-set=utf8mb4 --batch --skip-column-names "$@"
}
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"; }
# ended ends the script with the log of a server that ended.
ended() {
  cat /tmp/import.log >&2
  if grep -q -i -e 'downgrade' -e 'invalid mysql server upgrade' -e 'cannot boot server version' /tmp/import.log; then
    refuse 22 "the data is of a version of MySQL that this server cannot use: restore with the spec.database.version that the data had"
  fi
  fail 1 "the server does not run on the data: its log is above"
}

rm -f "$data/auto.cnf"
mysqld --datadir="$data" --socket="$socket" --pid-file=/tmp/import.pid --log-error=/tmp/import.log --skip-networking --skip-grant-tables \
  --server-id=1 --log-bin=binlog --relay-log=relaylog --loose-gtid-mode=ON --loose-enforce-gtid-consistency=ON \
  --event-scheduler=OFF --loose-skip-replica-start --loose-skip-slave-start --loose-persisted-globals-load=OFF --loose-mysqlx=OFF &
server=$!
until mysqladmin --protocol=socket --socket="$socket" --user=root --silent ping >/dev/null 2>&1; do
  kill -0 "$server" 2>/dev/null || ended
  sleep 1
done

if [ -n "${RECORDED:-}" ]; then
  executed=$(echo "SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '');" | run --raw)
  subset=$(echo "SELECT GTID_SUBSET($(quoted "$RECORDED"), $(quoted "$executed"));" | run)
  [ "$subset" != 0 ] ||
    refuse 25 "` + older + `: it has the transactions $(printf %s "$executed" | head -c 150), and before the snapshot the database had $(printf %s "$RECORDED" | head -c 150)"
  reached=$RECORDED
fi

if [ -n "${APP_USER:-}" ] && [ -n "${APP_DATABASE:-}" ]; then
  found=$(run <<SQL
SELECT (SELECT COUNT(*) FROM mysql.user WHERE User = $(quoted "$APP_USER") AND Host = '%')
  + (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE HEX(SCHEMA_NAME) = HEX($(quoted "$APP_DATABASE")));
SQL
)
  [ "$found" = 2 ] || refuse 21 "the data does not have the user $APP_USER and the database $APP_DATABASE of the credentials: ` + loginRemedy + `"
  mysql --protocol=socket --socket="$socket" --user="$APP_USER" --database="$APP_DATABASE" --execute='SELECT 1' >/dev/null
fi

# The second statement is for servers that do not have the first.
echo 'RESET REPLICA ALL;' | run 2>/dev/null || echo 'RESET SLAVE ALL;' | run
` + mySQLProof + `
mysqladmin --protocol=socket --socket="$socket" --user=root shutdown
wait "$server" || ended
: >"$data` + database.RestoredSuffix + `"
rm -f "$data.logins"
sync
echo "the data is that of a new server"
` + proven
