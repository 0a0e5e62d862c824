package database

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPostgreSQLReplicaLost makes a real primary remove the WAL that its replica needs next: the replica
// leaves the Service, and copies the data again when it is asked to.
func TestPostgreSQLReplicaLost(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Replicas = 2
	primary, replica := newPod(t, spec, "shop-database-0"), newPod(t, spec, "shop-database-1")
	replica.primaryPort = primary.port
	// The readiness probe of the replica asks the primary, which has another port here.
	primary.serveCommand += " -c wal_keep_size=0 -c min_wal_size=32MB"
	primary.must(t, "sh "+primary.etc+"/prepare.sh")
	primary.serve(t)
	replica.must(t, "sh "+replica.etc+"/prepare.sh")
	replica.serve(t)
	eventually(t, func() bool { return replica.ready(t) })
	observe := func(p *pod, command []string) string {
		t.Helper()
		return p.must(t, p.local(command[2]))
	}
	eventually(t, func() bool {
		return strings.Contains(observe(primary, ObservePrimaryCommand(v1.EnginePostgreSQL)), "replica 127.0.0.1 0\n") &&
			strings.HasPrefix(observe(replica, ObserveReplicaCommand()), "recovers streams ")
	})
	replica.stop(t)
	// A receiver that the primary refuses is asked about while it connects.
	replica.serveCommand += " -c wal_retrieve_retry_interval=1"

	ask := `psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host=` + primary.dir + `/run --port=` + primary.port + ` --username=postgres --dbname=postgres `
	primary.must(t, ask+`--command="CREATE TABLE later AS SELECT 1 AS id"`)
	for range 8 {
		primary.must(t, ask+`--command="SELECT pg_switch_wal()" --command="CREATE TABLE IF NOT EXISTS t ()" --command="DROP TABLE t" --command=CHECKPOINT`)
	}
	replica.serve(t)
	for range 100 {
		if replica.ready(t) {
			t.Fatal("a replica that cannot follow its primary is ready")
		}
	}
	// It may list the replica, whose receiver connects all the time and is refused.
	oldest := observe(primary, ObservePrimaryCommand(v1.EnginePostgreSQL))
	position := observe(replica, ObserveReplicaCommand())
	system, _, _ := strings.Cut(strings.TrimPrefix(oldest, "primary "), " ")
	if !strings.Contains(oldest, "oldest 00000001") || !strings.HasPrefix(position, "recovers waits "+system+" 1 0/") {
		t.Errorf("the primary says %q, the replica %q", oldest, position)
	}
	// It fails while the receiver is connected.
	eventually(t, func() bool {
		_, err := replica.run(t, replica.local(RebuildCommand()[2]))
		return err == nil
	})
	replica.stop(t)
	if out := replica.must(t, "sh "+replica.etc+"/prepare.sh"); !strings.Contains(out, "copied again") || linked(t, replica.env["PGDATA"]) {
		t.Errorf("the script said %s", out)
	}
	replica.serve(t)
	eventually(t, func() bool { return replica.ready(t) })
	if out, err := replica.as(t, replica.env["APP_USER"], awkward, "SELECT pg_is_in_recovery()"); err != nil || out != "t" {
		t.Errorf("the replica says %q: %v", out, err)
	}

	// Without its primary, a replica goes on serving what it has.
	primary.stop(t)
	if !replica.ready(t) {
		t.Error("a replica without a primary is not ready")
	}
}

// ready runs the readiness probe.
func (p *pod) ready(t *testing.T) bool {
	t.Helper()
	// The primary has another port on this machine.
	probe := strings.ReplaceAll(postgreSQLReady, `--host="$PRIMARY_HOST" --port=5432`, `--host="$PRIMARY_HOST" -p `+p.primaryPort)
	_, err := p.run(t, p.local(probe))
	return err == nil
}
