package jobs

import "github.com/shopfleet/shopfleet/spoke/render/database"

// preamble begins all scripts.
const preamble = `set -eu
umask 077
trap 'exit 143' INT TERM

# fail ends with the status $1 and a line for people.
fail() {
  status=$1
  shift
  echo "$*" >&2
  exit "$status"
}
`

// begin verifies the file and defines how to wait. The exit statuses are ExitNotEmpty,
// ExitChecksum and ExitMissing.
const begin = `# Loads the dump $DUMP, of $DUMP_BYTES bytes and with the checksum $DUMP_SHA256. What the
# database has is replaced if $OVERWRITE is true.
` + preamble + `
[ -f "$DUMP" ] || fail 12 "the dump is not there: ${DUMP##*/}"
bytes=$(($(wc -c <"$DUMP")))
[ "$bytes" -eq "$DUMP_BYTES" ] || fail 11 "${DUMP##*/} has $bytes bytes, and the dump has $DUMP_BYTES"
sum=$(sha256sum <"$DUMP")
[ "${sum%% *}" = "$DUMP_SHA256" ] || fail 11 "${DUMP##*/} does not have the checksum of the dump"

# wait_for runs a command until it succeeds, for five minutes at most.
deadline=$(($(date +%s) + ${WAIT_SECONDS:-300}))
wait_for() {
  until "$@"; do
    [ "$(date +%s)" -lt "$deadline" ] || fail 1 "the database has not answered for ${WAIT_SECONDS:-300} seconds"
    sleep 1
  done
}

# refuse_unless_empty refuses a database with $1 tables and $2 other objects.
refuse_unless_empty() {
  if [ "$1" -gt 0 ] || [ "$2" -gt 0 ]; then
    fail 10 "the database is not empty: it has $1 tables and $2 other objects"
  fi
}
`

// postgreSQLLoad drops existing content and loads the dump in one transaction.
//
// Comments on extensions are left out, since an extension that an administrator made is not
// the application's to comment on.
const postgreSQLLoad = begin + postgreSQLLoadInto

// postgreSQLLoadInto loads into the database that the environment names.
const postgreSQLLoadInto = `
export PGCONNECT_TIMEOUT=10
client() { psql --no-psqlrc --no-password --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 "$@"; }

wait_for pg_isready --quiet

pg_restore --list "$DUMP" | grep -v '^[0-9]*; [0-9]* [0-9]* COMMENT - EXTENSION ' >/tmp/list
set -- --no-owner --no-privileges --single-transaction --exit-on-error --use-list=/tmp/list

if [ "$OVERWRITE" = true ]; then
  echo "the database is replaced by ${DUMP##*/}"
  # The restore begins a transaction and ends it: without its end there is none.
  rm -f /tmp/complete
  {
    echo "SET client_min_messages = error;"
    echo "BEGIN;"
    echo "DROP OWNED BY CURRENT_USER CASCADE;"
    pg_restore "$@" --file=/dev/stdout "$DUMP" && : >/tmp/complete
  } | client >/dev/null
  [ -e /tmp/complete ] || fail 1 "the dump could not be read"
  echo "${DUMP##*/} is loaded"
  exit 0
fi

counts=$(client --field-separator=' ' <<'SQL'
WITH theirs AS (SELECT classid, objid FROM pg_catalog.pg_depend WHERE deptype = 'e'),
  schemas AS (SELECT oid, nspname FROM pg_catalog.pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
      AND NOT EXISTS (SELECT FROM theirs WHERE classid = 'pg_catalog.pg_namespace'::regclass AND objid = pg_namespace.oid)),
  relations AS (SELECT relkind FROM pg_catalog.pg_class WHERE relnamespace IN (SELECT oid FROM schemas)
    AND relkind IN ('r', 'p', 'f', 'v', 'm', 'S')
    AND NOT EXISTS (SELECT FROM theirs WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = pg_class.oid))
SELECT (SELECT count(*) FROM relations WHERE relkind IN ('r', 'p', 'f')),
  (SELECT count(*) FROM relations WHERE relkind IN ('v', 'm', 'S'))
  + (SELECT count(*) FROM schemas WHERE nspname <> 'public')
  + (SELECT count(*) FROM pg_catalog.pg_largeobject_metadata)
  + (SELECT count(*) FROM pg_catalog.pg_proc WHERE pronamespace IN (SELECT oid FROM schemas)
    AND NOT EXISTS (SELECT FROM theirs WHERE classid = 'pg_catalog.pg_proc'::regclass AND objid = pg_proc.oid))
  + (SELECT count(*) FROM pg_catalog.pg_type WHERE typnamespace IN (SELECT oid FROM schemas) AND (typtype IN ('e', 'd', 'r')
      OR typtype = 'c' AND EXISTS (SELECT FROM pg_catalog.pg_class WHERE pg_class.oid = typrelid AND relkind = 'c'))
    AND NOT EXISTS (SELECT FROM theirs WHERE classid = 'pg_catalog.pg_type'::regclass AND objid = pg_type.oid));
SQL
)
refuse_unless_empty ${counts% *} ${counts#* }

# The name could be read as a whole connection string.
pg_restore "$@" --no-password --dbname="dbname='$(printf '%s' "$PGDATABASE" | sed "s/[\\\\']/\\\\&/g")'" "$DUMP"
echo "${DUMP##*/} is loaded"
`

// mySQLLoad cannot load in one transaction, because the server commits at each CREATE
// TABLE. A table whose comment identifies the dump marks a partially loaded database. It
// is created first and dropped last.
const mySQLLoad = begin + mySQLLoadInto

// mySQLLoadInto loads into the database that the environment names.
const mySQLLoadInto = `
# client keeps to SQL: a line of the dump is no command for it.
client() {
  mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --database="$DB_NAME" --connect-timeout=10 \
    --default-character-set=utf8mb4 --max-allowed-packet=1G --binary-mode --batch --raw --skip-column-names
}
answers() {
  mysqladmin --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --connect-timeout=4 --silent ping >/dev/null 2>&1
}

wait_for answers

marker=$(client <<'SQL'
SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '` + database.LoadingTable + `';
SQL
)
if [ "$marker" = "$DUMP_SHA256" ]; then
  echo "an earlier load of ${DUMP##*/} was interrupted: it begins anew"
else
  if [ "$OVERWRITE" = true ]; then
    echo "the database is replaced by ${DUMP##*/}"
  elif [ -n "$marker" ]; then
    fail 10 "the database is not empty: it has a part of another dump, whose load was interrupted"
  else
    counts=$(client <<'SQL'
SELECT CONCAT(
  (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE <> 'VIEW'), ' ',
  (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'VIEW')
  + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE())
  + (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()));
SQL
)
    refuse_unless_empty ${counts% *} ${counts#* }
  fi
  client <<SQL
DROP TABLE IF EXISTS ` + database.LoadingTable + `;
CREATE TABLE ` + database.LoadingTable + ` (id INT PRIMARY KEY) COMMENT = '$DUMP_SHA256';
SQL
fi

drops=$(client <<'SQL'
SELECT CONCAT('DROP ', IF(TABLE_TYPE = 'VIEW', 'VIEW', 'TABLE'), ' IF EXISTS ` + "`', REPLACE(TABLE_NAME, '`', '``'), '`" + `;')
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME <> '` + database.LoadingTable + `'
UNION ALL SELECT CONCAT('DROP ', ROUTINE_TYPE, ' IF EXISTS ` + "`', REPLACE(ROUTINE_NAME, '`', '``'), '`" + `;')
  FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()
UNION ALL SELECT CONCAT('DROP EVENT IF EXISTS ` + "`', REPLACE(EVENT_NAME, '`', '``'), '`" + `;')
  FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE();
SQL
)
printf '%s\n' 'SET SESSION foreign_key_checks = 0;' "$drops" | client

# own makes views, triggers, routines and events those of who loads them: another definer
# takes an administrator. No row of a dump begins a line.
own() {
  LC_ALL=C sed -e '/^\/\*!50[0-9][0-9][0-9] /s/ DEFINER=` + "`[^`]*`@`[^`]*`" + `//' -e '/^CREATE DEFINER=/s/ DEFINER=` + "`[^`]*`@`[^`]*`" + `//'
}

# A pipe tells only how its last command ended.
rm -f /tmp/complete /tmp/owned
{ gzip -dc "$DUMP" && : >/tmp/complete; } | { own && : >/tmp/owned; } | client
[ -e /tmp/complete ] && [ -e /tmp/owned ] || fail 1 "the dump could not be read"
[ -e /tmp/complete ] || fail 1 "the dump could not be read"
echo "DROP TABLE ` + database.LoadingTable + `;" | client
echo "${DUMP##*/} is loaded"
`
