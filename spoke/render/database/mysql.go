package database

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	oldestMySQL = 8

	mySQLMount = "/var/lib/mysql"
)

func mySQL(s Spec) engine {
	image := s.Image
	if image == "" {
		image = "mysql:" + s.Version
	}
	return engine{
		image:     objectparts.Image(s.Registry, image),
		dataMount: mySQLMount,
		scratch:   []scratch{{name: "run", path: "/var/run/mysqld"}},
		config:    map[string]string{"server.cnf": mySQLConfig + mySQLMemory(s) + "!include " + scriptsPath + "/storage.cnf\n"},
		atStart: map[string]string{
			prepareScript: endsAtSignal + mySQLPrepare,
			"serve.sh":    endsAtSignal + mySQLServe,
			"storage.cnf": "[mysqld]\n" + mySQLLog(s),
		},
		serve:      []string{"sh", scriptsPath + "/serve.sh"},
		systemKeys: []string{rootKey, replicationKey},
		alive:      mySQLAlive,
		ready:      mySQLReady,
		mebibytes:  512,
		dump:       mySQLDump,
		clock:      mySQLClock,
		clientEnv:  mySQLClient,
	}
}

func mySQLClient(r renderer) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "DB_HOST", Value: r.Host()},
		{Name: "DB_PORT", Value: fmt.Sprint(r.Port())},
		secretOf(r, "DB_USER", UsernameKey),
		secretOf(r, "MYSQL_PWD", PasswordKey),
		secretOf(r, "DB_NAME", DatabaseKey),
	}
}

// mySQLConfig is the server's configuration. The data directory must be empty when it is
// created, so it is a subdirectory of the mount. Replicas are created with the clone
// plugin; log names must not depend on the pod. The application's user, who is not an administrator,
// may create triggers and functions: the binary log is row-based, so replicas do not execute them. The largest
// packet is as large as in the clients that dump and load rows.
const mySQLConfig = `[mysqld]
datadir=/var/lib/mysql/data
socket=/var/run/mysqld/mysqld.sock
pid-file=/var/run/mysqld/mysqld.pid
port=3306
skip-name-resolve=ON
character-set-server=utf8mb4
max-connections=200
gtid-mode=ON
enforce-gtid-consistency=ON
log-bin=binlog
relay-log=relaylog
max-allowed-packet=1G
plugin-load-add=mysql_clone.so
loose-mysqlx=OFF
loose-log-bin-trust-function-creators=ON
`

// mySQLMemory returns the settings that divide the memory. The buffer pool gets half, but leaves 640 MiB for the rest of
// the server, and has its default below 1 GiB. Without a number of instances, by which the server rounds the pool up,
// and a bound for temporary tables, the server would derive them from the node.
func mySQLMemory(s Spec) string {
	memory, pool := s.memory(), int64(128)
	if memory >= 1<<10 {
		pool = min(memory/2, memory-640) / 128 * 128
	}
	if pool >= 1<<10 {
		pool = pool >> 10 << 10
	}
	settings := fmt.Sprintf("innodb-buffer-pool-size=%dM\nloose-innodb-buffer-pool-instances=%d\n", pool, min(max(pool>>10, 1), 8))
	if memory > 0 {
		settings += fmt.Sprintf("loose-temptable-max-ram=%dM\n", max(memory/16, 16))
	}
	return settings
}

// mySQLLog bounds the binary log by the size of the volume. MySQL bounds it by time only, and looks at it when
// it begins another file: a volume below 100 GiB holds an hour of changes and one file of 64 MiB, a larger one
// six hours and 256 MiB. A replica that was disconnected for longer has to be given an empty volume, and a load
// that fills the volume within that time stops the primary.
func mySQLLog(s Spec) string {
	const large = 100 << 30
	seconds, file := 3600, 64<<20
	if s.Storage.Value() >= large {
		seconds, file = 6*3600, 256<<20
	}
	return fmt.Sprintf("binlog-expire-logs-seconds=%d\nmax-binlog-size=%d\n", seconds, file)
}

// mysqladmin ping succeeds if the server responds at all. The probes do not log in: the
// password may be rotated while the pod runs.
const (
	mySQLAlive = `mysqladmin --protocol=tcp --host=127.0.0.1 --port=3306 --connect-timeout=4 --user="$APP_USER" --silent ping`
	mySQLReady = mySQLAlive
)

const mySQLServe = `# Starts the server: pod 0 can be written to, the others cannot.
set -eu
ordinal=${POD_NAME##*-}
set -- mysqld --defaults-extra-file=/etc/shopfleet/server.cnf --server-id="$((ordinal + 1))"
if [ "$ordinal" != 0 ]; then
  set -- "$@" --super-read-only=ON
fi
exec "$@"
`

const mySQLPrepare = `# Makes the data directory of a new pod: pod 0's from nothing, another's from
# the primary's. It is complete when it bears its name.
set -eu
umask 077

data=/var/lib/mysql/data
new=/var/lib/mysql/new
socket=/tmp/prepare.sock
ordinal=${POD_NAME##*-}

` + quoteFunction + loginNote + mySQLUser + `
# start runs a server on $1 that nobody else can reach, which executes the file $2 before it accepts connections.
start() {
  mysqld --defaults-extra-file=/etc/shopfleet/server.cnf --datadir="$1" --socket="$socket" ${2:+"--init-file=$2"} \
    --pid-file=/tmp/prepare.pid --bind-address=127.0.0.1 --server-id="$((ordinal + 1))" --loose-skip-replica-start &
  server=$!
  until mysqladmin --protocol=socket --socket="$socket" --user=root --silent ping 2>/dev/null; do
    kill -0 "$server"
    sleep 1
  done
}

# stop ends it, unless it has ended by itself; $1 is the password of root.
stop() {
  MYSQL_PWD=$1 mysqladmin --protocol=socket --socket="$socket" --user=root shutdown || true
  wait "$server" || true
}

# run runs SQL; $1 is the password of root. Backslashes are what they look like.
run() {
  { echo "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');" && cat; } |
    MYSQL_PWD=$1 mysql --protocol=socket --socket="$socket" --user=root
}

if [ -d "$data/mysql" ]; then
  if [ "$ordinal" = 0 ] && { restored "$data" || ! noted "$data"; }; then
    first=
    if restored "$data"; then
      # The password of root in the data may not be known any more. The server reads statements of one line.
      first=/tmp/prepare.sql
      trap 'rm -f /tmp/prepare.sql' EXIT
      cat >"$first" <<SQL
SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');
ALTER USER IF EXISTS root@localhost IDENTIFIED BY $(quote "'" "$ROOT_PASSWORD");
SQL
    fi
    start "$data" "$first"
    login=${LOGIN_USER:-$APP_USER}
    administrator=$ROOT_PASSWORD name=$(quote "'" "$login") user="$(quote "'" "$login")@'%'"
    echo "ALTER USER IF EXISTS replication@'%' IDENTIFIED BY $(quote "'" "$REPLICATION_PASSWORD");" | run "$administrator"
    identified "$APP_PASSWORD" || refuse_logins
    case ${LOGIN_PHASE:-} in
      '' | ` + string(PhaseChanging) + `) discard ;;
    esac
    stop "$ROOT_PASSWORD"
    note "$data"
    rm -f "$data` + RestoredSuffix + `"
  fi
  exit 0
fi
rmdir "$data" 2>/dev/null || true
if [ -e "$data" ]; then
  echo "$data is no database, but it is not empty either: look at it, and empty it" >&2
  exit 1
fi
` + refuseEmpty + `rm -rf "$new"
if [ "$ordinal" != 0 ]; then
  until mysqladmin --protocol=tcp --host="$PRIMARY_HOST" --port=3306 --connect-timeout=4 --user=replication --silent ping 2>/dev/null; do
    echo "waiting for the primary"
    sleep 2
  done
fi
mysqld --defaults-extra-file=/etc/shopfleet/server.cnf --datadir="$new" --initialize-insecure
start "$new"
if [ "$ordinal" = 0 ]; then
  if [ "$APP_USER" = root ] || [ "$APP_USER" = replication ]; then
    echo "the user name $APP_USER is the database's own: choose another in the credentials Secret" >&2
    exit 1
  fi
  user="$(quote "'" "$APP_USER")@'%'"
  # An underscore in a grant stands for any character unless it is escaped.
  granted=$(quote '` + "`" + `' "$(printf '%s' "$APP_DATABASE" | sed 's/_/\\_/g')")
  run '' <<SQL
CREATE DATABASE $(quote '` + "`" + `' "$APP_DATABASE");
CREATE USER $user IDENTIFIED BY $(quote "'" "$APP_PASSWORD");
GRANT ALL ON $granted.* TO $user;
CREATE USER replication@'%' IDENTIFIED BY $(quote "'" "$REPLICATION_PASSWORD");
GRANT REPLICATION SLAVE, BACKUP_ADMIN ON *.* TO replication@'%';
ALTER USER root@localhost IDENTIFIED BY $(quote "'" "$ROOT_PASSWORD");
SQL
  # Named time zones. Not all fit the columns, and every replica gets them with the copy.
  {
    echo "SET SESSION sql_mode = ''; SET SESSION sql_log_bin = 0; USE mysql;"
    mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null
  } | run "$ROOT_PASSWORD"
else
  # The server ends when it has cloned, since nobody would restart it.
  run '' <<SQL || true
SET GLOBAL clone_valid_donor_list = '$PRIMARY_HOST:3306';
CLONE INSTANCE FROM replication@'$PRIMARY_HOST':3306 IDENTIFIED BY $(quote "'" "$REPLICATION_PASSWORD");
SQL
  stop ''
  start "$new"
  # With the primary's data came the primary's password of root.
  run "$ROOT_PASSWORD" <<SQL
CHANGE REPLICATION SOURCE TO SOURCE_HOST = '$PRIMARY_HOST', SOURCE_PORT = 3306, SOURCE_USER = 'replication',
  SOURCE_PASSWORD = $(quote "'" "$REPLICATION_PASSWORD"), SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1;
SQL
fi
stop "$ROOT_PASSWORD"
note "$data"
mv "$new" "$data"
`
