package database

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	oldestPostgreSQL = 10
	prepareScript    = "prepare.sh"
)

func postgreSQL(s Spec, major int) engine {
	mount := postgreSQLMount(major)
	image := s.Image
	if image == "" {
		image = "postgres:" + s.Version
	}
	return engine{
		image:     objectparts.Image(s.Registry, image),
		dataMount: mount,
		scratch: []scratch{
			{name: "run", path: "/var/run/postgresql"},
			// Parallel queries use shared memory; the default of a container is too small.
			{name: "shm", path: "/dev/shm", memory: 256},
		},
		config: map[string]string{
			"postgresql.conf": postgreSQLConfig(s, major),
			"pg_hba.conf":     postgreSQLAccess(),
		},
		atStart: map[string]string{
			prepareScript:  endsAtSignal + postgreSQLRebuild + postgreSQLPrepare,
			"storage.conf": postgreSQLWAL(s, major),
		},
		serve: []string{
			"postgres",
			"-c", "config_file=" + scriptsPath + "/postgresql.conf",
			"-c", "hba_file=" + scriptsPath + "/pg_hba.conf",
		},
		// A subdirectory, because the root of a volume may contain lost+found and belongs to root.
		env:        []corev1.EnvVar{{Name: "PGDATA", Value: mount + "/pgdata"}},
		systemKeys: []string{replicationKey},
		alive:      postgreSQLAlive,
		ready:      postgreSQLReady,
		stop:       `pg_ctl stop --pgdata="$PGDATA" --mode=fast --no-wait`,
		mebibytes:  256,
		dump:       postgreSQLDump,
		clock:      postgreSQLClock,
		clientEnv:  postgreSQLClient,
	}
}

// postgreSQLMount returns the mount path that the official image of a version expects.
// With another one, an anonymous volume of the image would hide it. PGDATA is the same
// directory of the volume for all versions.
func postgreSQLMount(major int) string {
	if major >= 18 {
		return "/var/lib/postgresql"
	}
	return "/var/lib/postgresql/data"
}

func postgreSQLClient(r renderer) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "PGHOST", Value: r.Host()},
		{Name: "PGPORT", Value: fmt.Sprint(r.Port())},
		secretOf(r, "PGUSER", UsernameKey),
		secretOf(r, "PGPASSWORD", PasswordKey),
		secretOf(r, "PGDATABASE", DatabaseKey),
	}
}

// postgreSQLConfig returns the server's configuration. A quarter of the memory is shared buffers, from the default of
// the server to where the cache of the kernel does better. effective_cache_size is an estimate for the planner: the cache
// of a container without a limit is that of its node, so that it is at least the default. Huge pages of the node that the
// container may not use end the server: they are used where its limit is enough. The major version is named because
// storage.conf depends on it, which changes in place.
func postgreSQLConfig(s Spec, major int) string {
	buffers, cache, huge := min(max(s.memory()/4, 128), 16<<10), max(s.memory()/4*3, 4<<10), "off"
	if s.hugePages() >= buffers/10*11 {
		huge = "try"
	}
	return fmt.Sprintf(`# PostgreSQL %d
listen_addresses = '*'
port = 5432
unix_socket_directories = '/var/run/postgresql'
password_encryption = 'scram-sha-256'
max_connections = 200
shared_buffers = %dMB
huge_pages = %s
effective_cache_size = %dMB
wal_level = replica
max_wal_senders = 10
hot_standby = on
logging_collector = off
log_timezone = 'UTC'
timezone = 'UTC'
include 'storage.conf'
`, major, buffers, huge, cache)
}

// postgreSQLWAL returns how much WAL the server keeps: about a fifth of the volume at most. A copy that is being made has
// a replication slot: one that stalls loses it, and begins again. Before PostgreSQL 13 slots are not bounded.
func postgreSQLWAL(s Spec, major int) string {
	tenth := max(s.Storage.Value()>>20/10, 80)
	wal := min(tenth, 1024)
	if major < 13 {
		return fmt.Sprintf("max_wal_size = %dMB\nwal_keep_segments = %d\n", wal, wal/16)
	}
	return fmt.Sprintf("max_wal_size = %[1]dMB\nwal_keep_size = %[1]dMB\nmax_slot_wal_keep_size = %[2]dMB\n", wal, tenth)
}

// postgreSQLAccess returns pg_hba.conf. Administrators can only connect through the
// socket within the pod.
func postgreSQLAccess() string {
	const anyone = "all"
	rules := [][]string{
		{"local", anyone, anyone, "trust"},
		{"host", "replication", "replication", anyone, "scram-sha-256"},
		{"host", anyone, "postgres", anyone, "reject"},
		{"host", anyone, anyone, anyone, "scram-sha-256"},
	}
	var b strings.Builder
	b.WriteString("# type database user address method\n")
	for _, rule := range rules {
		b.WriteString(strings.Join(rule, " ") + "\n")
	}
	return b.String()
}

const (
	postgreSQLServes = `pg_isready --quiet --host=127.0.0.1 --port=5432 --username="$APP_USER" --dbname="$APP_DATABASE"`
	// 0 is "accepting connections", 1 "starting up or shutting down".
	postgreSQLAlive = postgreSQLServes + `; [ "$?" -le 1 ]`
	// postgreSQLReady leaves a replica that does not stream out of the Service, while its primary
	// serves. Without the primary it goes on serving what it has.
	postgreSQLReady = postgreSQLServes + ` || exit 1
[ "${POD_NAME##*-}" != 0 ] || exit 0
streams=$(psql --no-psqlrc --no-password --quiet --tuples-only --no-align --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres \
  --command="SELECT pg_is_in_recovery() AND ` + streams + `") || exit 1
[ "$streams" = t ] || ! pg_isready --quiet --host="$PRIMARY_HOST" --port=5432`
)

const postgreSQLPrepare = `# Makes the data directory of a new pod: pod 0's from nothing, another's from
# the primary's. It is complete when it bears its name.
set -eu
umask 077
` + quoteFunction + postgreSQLLogin + `
# serve starts the server on $1 for this script alone, and finish stops it. With its own
# configuration it keeps the WAL that replicas need.
serve() {
  pg_ctl start --pgdata="$1" --wait --timeout=86400 --options="-c config_file=/etc/shopfleet/postgresql.conf \
    --port=5432 -c listen_addresses='' -c unix_socket_directories=/tmp -c log_min_error_statement=panic"
}
finish() {
  pg_ctl stop --pgdata="$1" --wait --timeout=86400 --mode=fast
}
run() {
  psql --host=/tmp --port=5432 --username=postgres --dbname=postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1
}

# logins_sql gives replicas, and the logins of the login Secret or else the application's user, their
# passwords: data of a backup may have others. While clients may use the other login, its password stays.
logins_sql() {
  echo "SET log_min_error_statement = panic; SET log_statement = none; SET password_encryption = 'scram-sha-256';"
  printf 'ALTER ROLE replication PASSWORD %s;\n' "$(quote "'" "$REPLICATION_PASSWORD")"
  login_sql "$APP_USER" "${LOGIN_USER:-$APP_USER}" "$APP_PASSWORD"
  case ${LOGIN_PHASE:-} in
    '' | ` + string(PhaseChanging) + `) [ -z "${LOGIN_OTHER:-}" ] || login_sql "$APP_USER" "$LOGIN_OTHER" "$APP_PASSWORD" ;;
  esac
}
` + loginNote + `
if [ -s "$PGDATA/PG_VERSION" ]; then
  if [ "${POD_NAME##*-}" = 0 ] && { restored "$PGDATA" || ! noted "$PGDATA"; }; then
    serve "$PGDATA"
    logins_sql | run || refuse_logins
    finish "$PGDATA"
    note "$PGDATA"
    rm -f "$PGDATA` + RestoredSuffix + `"
  fi
  exit 0
fi
rmdir "$PGDATA" 2>/dev/null || true
if [ -e "$PGDATA" ]; then
  echo "$PGDATA is no database, but it is not empty either: look at it, and empty it" >&2
  exit 1
fi
` + refuseEmpty + `new=$PGDATA.new
rm -rf "$new"

if [ "${POD_NAME##*-}" = 0 ]; then
  if [ "$APP_USER" = postgres ] || [ "$APP_USER" = replication ]; then
    echo "the user name $APP_USER is the database's own: choose another in the credentials Secret" >&2
    exit 1
  fi
  initdb --pgdata="$new" --username=postgres --encoding=UTF8 --data-checksums \
    --auth-local=trust --auth-host=scram-sha-256
  serve "$new"
  run <<SQL
CREATE ROLE $(quote '"' "$APP_USER") LOGIN PASSWORD $(quote "'" "$APP_PASSWORD");
CREATE DATABASE $(quote '"' "$APP_DATABASE") OWNER $(quote '"' "$APP_USER");
CREATE ROLE replication LOGIN REPLICATION PASSWORD $(quote "'" "$REPLICATION_PASSWORD");
SQL
  if [ -n "${LOGIN_USER:-}" ]; then
    logins_sql | run
  fi
  finish "$new"
  note "$PGDATA"
else
  until pg_isready --quiet --host="$PRIMARY_HOST" --port=5432 --username=replication; do
    echo "waiting for the primary"
    sleep 2
  done
  PGPASSWORD=$REPLICATION_PASSWORD pg_basebackup --pgdata="$new" --host="$PRIMARY_HOST" --port=5432 \
    --username=replication --no-password --wal-method=stream --status-interval=1 --checkpoint=fast --write-recovery-conf
fi
mv "$new" "$PGDATA"
`
