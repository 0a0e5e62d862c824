package jobs

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// ProveDump returns a Job that downloads a dump, loads it into a database that it makes in its own pod, and reads all of that,
// as Import does with ImportSpec.Prove. It connects to the bucket only. The Secret holds the order of the download, as for
// Load. The claim must be empty, and large enough for the dump and the database.
//
// An error means that the arguments are invalid, or names the field of the database's spec that must change. It contains
// nothing of the order.
func ProveDump(l LoadSpec) (*batchv1.Job, *corev1.Secret, error) {
	l.Overwrite, l.Database.CredentialsSecret = false, "" // The database is new, and so are its names.
	if err := l.checkLoad(); err != nil {
		return nil, nil, err
	}
	if l.Fetch == nil {
		return nil, nil, fmt.Errorf("job %q: %w", l.Name, errImage)
	}
	i := ImportSpec{Job: l.Job, Database: l.Database, Claim: l.Claim, Prove: true}
	pod, err := i.pod()
	if err != nil {
		return nil, nil, err
	}
	labels := i.importLabels()
	secret, err := l.secret(labels, l.Fetch.Order, order.Fetch)
	if err != nil {
		return nil, nil, err
	}
	beside := corev1.VolumeMount{Name: database.DataVolume, MountPath: backupsPath}
	loads := *pod.Containers[0].DeepCopy()
	loads.Name, loads.Command = LoadContainer, []string{"sh", "-c", loadNewScript(l.Database.Engine), "load.sh"}
	loads.Env, loads.VolumeMounts = append(loads.Env, l.env()...), append(loads.VolumeMounts, beside)
	fetches := transfer(FetchContainer, l.Fetch.Image, false)
	fetches.VolumeMounts[0] = beside // A volume is mounted under one name.
	pod.InitContainers = []corev1.Container{fetches, loads}
	pod.Volumes = append(pod.Volumes, orders(l.Name))
	pod.TerminationGracePeriodSeconds = nil // Another attempt begins anew: nothing is to be ended in order.
	return l.of(labels, limits{
		retries: transferRetries, seconds: importSeconds, final: []batchv1.PodFailurePolicyRule{fetchFails(), loadFails(), importFails()},
	}, pod, l.Database.Pods), secret, nil
}

func loadNewScript(engine v1.Engine) string {
	if engine == v1.EngineMySQL {
		return mySQLLoadNew
	}
	return postgreSQLLoadNew
}

// postgreSQLLoadNew and mySQLLoadNew load a dump into a new database, and delete what an earlier attempt left. No other
// client reaches the server, so the user has no password. The server writes its log to a file: the end of the container's
// log becomes the message of the Restore, and the server's log repeats rows.
const (
	loadNew = begin + `
# not_started ends the script with the log of a server that does not start.
not_started() {
  cat /tmp/load.log >&2
  fail 1 "the server does not start: its log is above"
}
`

	postgreSQLLoadNew = loadNew + `
rm -rf "$PGDATA"
initdb --pgdata="$PGDATA" --username=postgres --encoding=UTF8 --data-checksums --auth=trust >/tmp/load.log 2>&1 || not_started
pg_ctl start --pgdata="$PGDATA" --wait --timeout=86400 --log=/tmp/load.log --options="-c listen_addresses='' -c port=5432 \
  -c unix_socket_directories=/tmp -c fsync=off -c max_wal_size=256MB -c huge_pages=off -c max_locks_per_transaction=1024" >/dev/null || not_started
PGDATABASE=postgres psql --no-psqlrc --no-password --quiet --set=ON_ERROR_STOP=1 --host=/tmp --port=5432 --username=postgres \
  --set=user="$APP_USER" --set=database="$APP_DATABASE" <<'SQL'
CREATE ROLE :"user" LOGIN;
CREATE DATABASE :"database" OWNER :"user";
SQL
export PGHOST=/tmp PGPORT=5432 PGUSER="$APP_USER" PGDATABASE="$APP_DATABASE"
` + postgreSQLLoadInto + `
pg_ctl stop --pgdata="$PGDATA" --wait --timeout=86400 --mode=fast >/dev/null
sync
`

	mySQLLoadNew = loadNew + `
data=/var/lib/mysql/data
socket=/tmp/load.sock
rm -rf "$data"
mysqld --datadir="$data" --initialize-insecure >/tmp/load.log 2>&1 || not_started
mysqld --datadir="$data" --socket="$socket" --pid-file=/tmp/load.pid --bind-address=127.0.0.1 --port=3306 --skip-name-resolve \
  --server-id=1 --skip-log-bin --max-allowed-packet=1G --character-set-server=utf8mb4 --event-scheduler=OFF --loose-mysqlx=OFF >>/tmp/load.log 2>&1 &
server=$!
root() { mysql --protocol=socket --socket="$socket" --user=root "$@"; }
until root --execute='SELECT 1' >/dev/null 2>&1; do
  kill -0 "$server" 2>/dev/null || not_started
  sleep 1
done
root <<SQL
CREATE DATABASE ` + "\\`$APP_DATABASE\\`" + `;
CREATE USER ` + "\\`$APP_USER\\`" + `@'%';
GRANT ALL ON ` + "\\`$APP_DATABASE\\`" + `.* TO ` + "\\`$APP_USER\\`" + `@'%';
SQL
# Named time zones, which events of the dump may have.
{ echo "SET SESSION sql_mode = ''; USE mysql;" && mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null; } | root
DB_HOST=127.0.0.1 DB_PORT=3306 DB_USER=$APP_USER DB_NAME=$APP_DATABASE
` + mySQLLoadInto + `
mysqladmin --protocol=socket --socket="$socket" --user=root shutdown
wait "$server"
sync
`
)
