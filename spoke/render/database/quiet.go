package database

import (
	"fmt"
	"strconv"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Quiet is the line that the command of Quieten prints when the server was told.
const Quiet = "shopfleet: the database is quiet"

// Quieten returns the command that tells the server in a container of a primary that its
// volume is about to be cut. It prints Quiet, and goes on until its input ends if it
// holds something, for at most the limit in whole seconds, of which there is at least one.
// It fails without that line, and says why on the standard error.
//
// It needs nothing but what the container has had since the first release: no file, no
// further privilege, no restart. What it is told about the database comes from the
// container's environment.
func Quieten(engine v1.Engine, limit time.Duration) ([]string, error) {
	script := ""
	switch engine {
	case v1.EnginePostgreSQL:
		script = postgreSQLQuieten
	case v1.EngineMySQL:
		script = mySQLQuieten
	default:
		return nil, fmt.Errorf("engine %q: give postgresql or mysql", engine)
	}
	seconds := max(int(limit/time.Second), 1)
	return []string{"sh", "-c", script, "sh", strconv.Itoa(seconds)}, nil
}

const (
	// A checkpoint holds nothing: the server goes on writing at once.
	postgreSQLQuieten = `# Has the server write down what it has in memory; $1 are seconds.
set -eu
timeout "$1" psql --no-psqlrc --no-password --quiet --set=ON_ERROR_STOP=1 \
  --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres --command=CHECKPOINT
echo '` + Quiet + `'
`

	// FLUSH TABLES WITH READ LOCK would need a privilege that the application's user
	// lacks, and the password of root is not in the container. LOCK TABLES needs none,
	// and on giving up leaves no table that others wait for, as FLUSH TABLES does.
	mySQLQuieten = `# Keeps those who write to the application's tables waiting, until the input ends or for
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
  printf '%s\n' "$!" 'SET SESSION lock_wait_timeout = 5;' "$lock" "SELECT '` + Quiet + `';"
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
