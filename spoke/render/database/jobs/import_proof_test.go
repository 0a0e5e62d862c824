package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const prove = "PROVE=true"

// hide takes a program away, which is in a folder with others.
func (m *machine) hide(t *testing.T, program string) {
	t.Helper()
	m.env["HIDDEN"] = program
	m.must(t, `mkdir all; IFS=:; for folder in $PATH; do for f in "$folder"/*; do
  name=${f##*/}; [ "$name" = "$HIDDEN" ] || [ -e "all/$name" ] || ln -s "$f" "all/$name"; done; done`)
	m.env["PATH"] = filepath.Join(m.dir, "all")
}

// damage overwrites bytes of a file.
func (m *machine) damage(t *testing.T, file string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(m.dir, file), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte(strings.Repeat("x", 64)), offset); err != nil {
		t.Fatal(err)
	}
}

// TestProofPostgreSQL proves data by each of the ways, and then damaged data. Servers before 14 are not on the machines that run the
// tests: what they are read by is shown with 15 without its checker.
func TestProofPostgreSQL(t *testing.T) {
	m := newSnapshot(t)
	m.imports(t, 0, "all data was read by pg_amcheck", prove)
	m.expectImported(t, "2")
	m.standIn(t, "pg_amcheck", "echo no memory; exit 1")
	m.imports(t, 1, "pg_amcheck does not end: no memory", prove)
	m.end(t)
	m.standIn(t, "pg_amcheck", "")
	m.start(t)
	table := filepath.Join("data", m.must(t, `psql --tuples-only --no-align --host="$DIR" --command="SELECT pg_relation_filepath('orders')"`))
	m.must(t, "pg_ctl stop --mode=fast >/dev/null; pg_checksums --enable --no-sync >/dev/null")
	m.imports(t, 0, "all data was read by pg_amcheck and pg_checksums", prove)

	all := m.env["PATH"]
	m.hide(t, "pg_amcheck")
	m.imports(t, 0, "all data was read by pg_dump and amcheck and pg_checksums", prove)
	m.damage(t, m.must(t, `cd "$DIR"; find data/base -name '*_fsm' | head -n 1`), 100) // The server does not look at it.
	m.imports(t, ExitDamaged, "the data is damaged: pg_checksums: error", prove)
	m.must(t, "pg_checksums --disable --no-sync >/dev/null")
	m.damage(t, table, 8)
	m.imports(t, ExitDamaged, "the data is damaged: pg_dump: error", prove)
	m.end(t)
	m.env["PATH"] = all
	m.imports(t, ExitDamaged, "the data is damaged: heap table", prove)
	m.end(t)
	m.imports(t, 0, "the data is that of a new timeline") // It is not read.
}

// TestProofMySQL proves data of MariaDB, and then damaged data.
func TestProofMySQL(t *testing.T) {
	m := newMySQLSnapshot(t)
	m.imports(t, 0, "all data was read by CHECK TABLE", prove)
	m.expectMySQLImported(t)
	m.standIn(t, "mysql", `case "$*" in *skip-column-names) printf 'shop.orders\tcheck\tWarning\tInnoDB: corrupted\nshop.orders\tcheck\terror\tCorrupt\n' ;; esac`)
	m.imports(t, ExitDamaged, "the data is damaged: shop.orders check error Corrupt", prove)
	m.kill(t, "tmp/import.pid", syscall.SIGKILL)
	m.standIn(t, "mysql", "")
	m.damage(t, m.must(t, `cd "$DIR"; find mysql/data -name 'orders.ibd'`), 3*16384+60)
	m.imports(t, ExitDamaged, "the data is damaged: ", prove)
}

// TestProve checks that only a Job that proves reads all of the data.
func TestProve(t *testing.T) {
	t.Parallel()
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		for _, asked := range []bool{true, false} {
			i := testImport(engine)
			i.Prove = asked
			job := mustImport(t, i)
			reads := false
			for _, e := range job.Spec.Template.Spec.Containers[0].Env {
				reads = reads || e == corev1.EnvVar{Name: "PROVE", Value: "true"}
			}
			if reads != asked {
				t.Errorf("%s: asked to prove is %v, and is asked for by the environment %v", engine, asked, reads)
			}
		}
	}
}
