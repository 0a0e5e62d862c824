package database

import (
	"fmt"
	"strconv"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Quiesced is the line that the quiesce command prints when the database is quiesced.
const Quiesced = "shopfleet: the database is quiesced"

// QuiesceCommand returns the command that quiesces the server in the primary's container
// before a volume snapshot. The command prints Quiesced, and, if it holds a lock, runs
// until its input ends, at most for limit, in whole seconds, at least one. If it fails, it
// does not print that line, and writes the reason to standard error.
//
// It requires nothing but what containers of all releases have: no additional file or
// privilege, and no restart. It reads the database's configuration from the environment
// of the container.
func QuiesceCommand(engine v1.Engine, limit time.Duration) ([]string, error) {
	script := ""
	switch engine {
	case v1.EnginePostgreSQL:
		script = postgreSQLQuiesce
	case v1.EngineMySQL:
		script = mySQLQuiesce
	default:
		return nil, fmt.Errorf("engine %q: give postgresql or mysql", engine)
	}
	seconds := max(int(limit/time.Second), 1)
	return []string{"sh", "-c", script, "sh", strconv.Itoa(seconds)}, nil
}

const (
	// A checkpoint holds no lock: the server keeps writing.
	postgreSQLQuiesce = `# Has the server write down what it has in memory; $1 are seconds.
set -eu
timeout "$1" psql --no-psqlrc --no-password --quiet --set=ON_ERROR_STOP=1 \
  --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres --command=CHECKPOINT
echo '` + Quiesced + `'
`

	// FLUSH TABLES WITH READ LOCK requires a privilege that the application's user lacks,
	// and the root password is not in the container. LOCK TABLES requires none and, unlike
	// FLUSH TABLES, leaves no table blocked when it gives up.
	mySQLQuiesce = `# Keeps those who write to the application's tables waiting, until the input ends or for
# $1 seconds. Those who read do not wait.
set -eu

# client runs SQL for at most $1 seconds.
client() {
  MYSQL_PWD="$APP_PASSWORD" timeout "$1" mysql --protocol=tcp --host=127.0.0.1 --port=3306 --connect-timeout=4 \
    --user="$APP_USER" --database="$APP_DATABASE" --default-character-set=utf8mb4 --batch --raw --skip-column-names --unbuffered
}

# The list of tables does not fit the default of 1 KiB.
lock=$(client 10 <<'SQL'
SET SESSION group_concat_max_len = 16777216;
SELECT COALESCE(CONCAT('LOCK TABLES ', GROUP_CONCAT('` + "`', REPLACE(TABLE_NAME, '`', '``'), '`" + ` READ'), ';'), '')
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE';
SQL
)

# One side holds the session open, the other ends it when there is nothing to hold. A
# transaction that goes on for long is not waited for: others would wait behind us.
{
  exec 3<&0
  timeout "$1" cat <&3 >/dev/null &
  printf '%s\n' "$!" 'SET SESSION lock_wait_timeout = 5;' "$lock" "SELECT '` + Quiesced + `';"
  wait "$!" || true
} | {
  read -r holder
  status=0
  client "$1" || status=$?
  kill "$holder" 2>/dev/null || true
  exit "$status"
}
`
)
