package jobs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// TestRecorded checks that the pod compares with a position of its engine, and with nothing else.
func TestRecorded(t *testing.T) {
	t.Parallel()
	const postgreSQL, mySQL = "7412345678901234567 1 0/16B3748", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	for position, want := range map[string]map[v1.Engine]string{
		postgreSQL:            {v1.EnginePostgreSQL: postgreSQL},
		mySQL:                 {v1.EngineMySQL: mySQL},
		"":                    {},
		"$(reboot) 1 0/1":     {},
		mySQL + "') OR ('1'=": {},
	} {
		for engine := range engines() {
			i := testImport(engine)
			i.Position = position
			got := ""
			for _, e := range mustImport(t, i).Spec.Template.Spec.Containers[0].Env {
				if e.Name == "RECORDED" {
					got = e.Value
				}
			}
			if got != want[engine] {
				t.Errorf("%s, %q: %q, want %q", engine, position, got, want[engine])
			}
		}
	}
}

// position has a server tell its position as before a snapshot.
func (m *machine) position(t *testing.T) string {
	t.Helper()
	var command []string
	for _, arg := range database.SnapshotCommand(m.engine) {
		arg = strings.NewReplacer("/var/run/postgresql", m.dir, "--port=5432", "--port="+m.port).Replace(arg)
		command = append(command, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	position := database.Position(m.engine, m.must(t, strings.Join(command, " ")))
	if position == "" {
		t.Fatal("the server does not tell its position")
	}
	return position
}

const crash = `pg_ctl stop --mode=immediate >/dev/null`

// TestRecordedPostgreSQL imports data from after the position that a server told, from right then, and from before.
func TestRecordedPostgreSQL(t *testing.T) {
	m := newSnapshot(t)
	const before, now, later = `rm -rf before; cp -a data before`, `rm -rf now; cp -a data now`, `rm -rf later; cp -a data later`
	m.must(t, `rm -f "$PGDATA/postmaster.pid" "$PGDATA/standby.signal"`)
	m.must(t, before)
	m.start(t, "fsync=on", "wal_level=logical")
	position := m.position(t)
	m.must(t, crash)
	m.must(t, now)
	m.start(t, "fsync=on", "wal_level=logical")
	m.admin(t, "postgres", "CREATE TABLE later AS SELECT generate_series(1, 1000); CHECKPOINT")
	m.must(t, crash)
	m.must(t, later)

	recorded := "RECORDED=" + position
	have := func(data string) { m.must(t, "rm -rf data data.restored; cp -a "+data+" data") }
	have("now")
	m.imports(t, 0, "all data was read by pg_amcheck; it reaches the position that the backup recorded, "+position, recorded, prove)
	have("later")
	for range 2 { // Another attempt finds another timeline.
		m.imports(t, 0, "the data is that of a new timeline", recorded)
	}
	have("before")
	files := m.must(t, "cd data; find . -type f | sort | xargs sha256sum")
	m.imports(t, ExitOlder, "the snapshot holds data that is older than the backup says, or of another database: its last checkpoint is ", recorded)
	m.imports(t, ExitOlder, "and before the snapshot the database was at "+position+" (system identifier, timeline, LSN)", recorded, prove)
	if after := m.must(t, "cd data; find . -type f | sort | xargs sha256sum"); after != files {
		t.Error("data that is refused was changed")
	}

	fields := strings.Fields(position)
	high, low, _ := strings.Cut(fields[2], "/")
	for name, other := range map[string]string{
		"of another database": "1 " + fields[1] + " " + fields[2],
		"of a later timeline": fields[0] + " 2 " + fields[2],
		"of a later position": fields[0] + " 1 " + high + "1/" + low,
	} {
		t.Run(name, func(t *testing.T) {
			have("later")
			m.imports(t, ExitOlder, "the database was at "+other, "RECORDED="+other)
		})
	}
	have("before")
	m.hide(t, "pg_controldata") // The image lacks it: nothing is compared.
	m.imports(t, 0, "the data is that of a new timeline", recorded)
}

// TestRecordedMySQL checks what the Job asks of a server, and what it makes of the answer. The server is MariaDB, which has other GTIDs:
// how MySQL compares sets of them is not shown.
func TestRecordedMySQL(t *testing.T) {
	const position = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	m := newMySQLSnapshot(t)
	client := m.must(t, "command -v mysql")
	m.standIn(t, "mysql", `sql=$(cat)
case $sql in
  *gtid_executed*) echo "$EXECUTED" ;;
  *GTID_SUBSET*) printf '%s' "$sql" >"$DIR/asked"; echo "$SUBSET" ;;
  *) printf '%s\n' "$sql" | `+client+` "$@" ;;
esac`)
	for _, tt := range []struct {
		executed, subset, want string
		status                 int
	}{
		{position + "-7", "1", "all data was read by CHECK TABLE; it reaches the position that the backup recorded, " + position, 0},
		{"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-4", "0", "the snapshot holds data that is older than the backup says, or of another database: it has the transactions " +
			"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-4, and before the snapshot the database had " + position, ExitOlder},
		{"", "0", "it has the transactions , and before", ExitOlder},
	} {
		m.imports(t, tt.status, tt.want, "RECORDED="+position, "EXECUTED="+tt.executed, "SUBSET="+tt.subset, prove)
		m.kill(t, filepath.Join("tmp", "import.pid"), syscall.SIGKILL)
		if got := m.must(t, "cat asked"); !strings.HasSuffix(got, "SELECT GTID_SUBSET('"+position+"', '"+tt.executed+"');") {
			t.Errorf("it asks %s", got)
		}
	}
	m.must(t, "rm asked")
	m.imports(t, 0, "the data is that of a new server") // Nothing was recorded.
	if got := m.must(t, "cat asked 2>/dev/null || true"); got != "" {
		t.Errorf("it asks %s", got)
	}
}
