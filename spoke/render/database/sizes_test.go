package database

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// settingsOf returns the files of the configuration of a database, and the name of the ConfigMap.
func settingsOf(t *testing.T, spec Spec) (files map[string]string, name string) {
	t.Helper()
	for _, cm := range objectsOf[*corev1.ConfigMap](mustRender(t, spec)) {
		if _, is := cm.Data[prepareScript]; is {
			return cm.Data, cm.Name
		}
	}
	t.Fatal("there is no configuration")
	return nil, ""
}

// TestSizesOfVolumes checks that what depends on the size of the volume is bounded by it, and restarts no pod when
// the volume grows or replicas are added.
func TestSizesOfVolumes(t *testing.T) {
	t.Parallel()
	for server, wants := range map[string]map[string]string{
		"postgresql 15.4": {
			"100Mi": "max_wal_size = 80MB\nwal_keep_size = 80MB\nmax_slot_wal_keep_size = 80MB\n",
			"1Gi":   "max_wal_size = 102MB\nwal_keep_size = 102MB\nmax_slot_wal_keep_size = 102MB\n",
			"10Gi":  "max_wal_size = 1024MB\nwal_keep_size = 1024MB\nmax_slot_wal_keep_size = 1024MB\n",
			"4Ti":   "max_wal_size = 1024MB\nwal_keep_size = 1024MB\nmax_slot_wal_keep_size = 419430MB\n",
		},
		"postgresql 12.1": {
			"1Gi": "max_wal_size = 102MB\nwal_keep_segments = 6\n",
			"4Ti": "max_wal_size = 1024MB\nwal_keep_segments = 64\n",
		},
		"mysql 8.4.2": {
			"1Gi":   "[mysqld]\nbinlog-expire-logs-seconds=3600\nmax-binlog-size=67108864\n",
			"99Gi":  "[mysqld]\nbinlog-expire-logs-seconds=3600\nmax-binlog-size=67108864\n",
			"100Gi": "[mysqld]\nbinlog-expire-logs-seconds=21600\nmax-binlog-size=268435456\n",
			"4Ti":   "[mysqld]\nbinlog-expire-logs-seconds=21600\nmax-binlog-size=268435456\n",
		},
	} {
		engine, version, _ := strings.Cut(server, " ")
		spec := testSpec(v1.Engine(engine), version)
		_, name := settingsOf(t, spec)
		before := statefulSetOf(t, mustRender(t, spec)).Spec.Template
		for size, want := range wants {
			spec.Storage, spec.Replicas = resource.MustParse(size), 3
			files, now := settingsOf(t, spec)
			if got := files["storage.conf"] + files["storage.cnf"]; got != want {
				t.Errorf("%s %s: %q, want %q", engine, size, got, want)
			}
			if diff := cmp.Diff(before, statefulSetOf(t, mustRender(t, spec)).Spec.Template); diff != "" || now != name {
				t.Errorf("%s: a volume of %s and replicas restart the pods (-before +after):\n%s", engine, size, diff)
			}
		}
	}
}

// TestSizesOfMemory checks that caches are a part of the memory that the pods request, and no more than the default
// without one.
func TestSizesOfMemory(t *testing.T) {
	t.Parallel()
	neither := v1.Resources{Requests: v1.Amounts{v1.ResourceCPU: resource.MustParse("1")}}
	checkSizes(t, v1.Resources{}, "128MB 4096MB 128M")
	checkSizes(t, neither, "128MB 4096MB 128M")
	for memory, want := range map[string]string{
		"128Mi":  "128MB 4096MB 128M",
		"1000Mi": "250MB 4096MB 128M",
		"1Gi":    "256MB 4096MB 384M",
		"1280Mi": "320MB 4096MB 640M",
		"1536Mi": "384MB 4096MB 768M",
		"2Gi":    "512MB 4096MB 1024M",
		"3Gi":    "768MB 4096MB 1024M",
		"16Gi":   "4096MB 12288MB 8192M",
		"16G":    "3814MB 11442MB 7168M",
		"256Gi":  "16384MB 196608MB 131072M",
	} {
		amounts := v1.Amounts{v1.ResourceMemory: resource.MustParse(memory)}
		checkSizes(t, v1.Resources{Requests: amounts, Limits: v1.Amounts{v1.ResourceMemory: resource.MustParse("1Ti")}}, want)
		checkSizes(t, v1.Resources{Requests: neither.Requests, Limits: amounts}, want)
	}
}

// checkSizes compares the sizes in the configuration of both engines.
func checkSizes(t *testing.T, resources v1.Resources, want string) {
	t.Helper()
	var got []string
	for _, of := range [][]string{{"postgresql", "postgresql.conf", "shared_buffers = ", "effective_cache_size = "}, {"mysql", "server.cnf", "innodb-buffer-pool-size="}} {
		spec := testSpec(v1.Engine(of[0]), "15.4")
		spec.Resources = resources
		files, _ := settingsOf(t, spec)
		for _, setting := range of[2:] {
			_, value, _ := strings.Cut(files[of[1]], setting)
			value, _, _ = strings.Cut(value, "\n")
			got = append(got, value)
		}
	}
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%v: %s, want %s", resources, text, want)
	}
}

// TestPostgreSQLSizes asks a real server for its sizes. A copy that stalls loses its replication slot before the volume is full.
func TestPostgreSQLSizes(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Storage, spec.Resources.Requests = resource.MustParse("100Mi"), v1.Amounts{v1.ResourceMemory: resource.MustParse("1Gi")}
	p := newPod(t, spec, "shop-database-0")
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.serve(t)
	ask := func(sql string) string {
		return strings.TrimSpace(p.must(t, `psql --no-psqlrc --quiet --tuples-only --no-align --host=`+p.dir+`/run --port=`+p.port+` --username=postgres --dbname=postgres --command="`+sql+`"`))
	}
	settings := "SELECT string_agg(pg_size_bytes(setting || unit) / 1048576 || '', ' ' ORDER BY name) FROM pg_settings WHERE name IN "
	if got, want := ask(settings+"('max_slot_wal_keep_size', 'max_wal_size', 'wal_keep_size')"), "80 80 80"; got != want {
		t.Errorf("WAL is bounded by %s MB, want %s", got, want)
	}
	if got, want := ask("SHOW shared_buffers")+" "+ask("SHOW effective_cache_size"), "256MB 4GB"; got != want {
		t.Errorf("the memory is divided into %s, want %s", got, want)
	}
	ask("SELECT pg_create_physical_replication_slot('stalled', true)")
	ask("SELECT count(pg_logical_emit_message(false, 'x', repeat('x', 1000000))) FROM generate_series(1, 200)")
	ask("CHECKPOINT")
	if got := ask("SELECT wal_status FROM pg_replication_slots"); got != "lost" {
		t.Errorf("a slot that keeps 200 MB of WAL is %s, want it lost", got)
	}
	p.stop(t)
}

// TestMariaDBReadsSizes checks that the file of the sizes is included, by the rules of MySQL.
func TestMariaDBReadsSizes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("my_print_defaults"); err != nil {
		t.Skip("the configuration is not read: there is no my_print_defaults; on Debian, apt-get install mariadb-server brings it")
	}
	p := newPod(t, testSpec(v1.EngineMySQL, "8.4.2"), "shop-database-0")
	read := p.must(t, "my_print_defaults --defaults-file="+filepath.Join(p.etc, "server.cnf")+" mysqld")
	for _, option := range []string{"--innodb-buffer-pool-size=128M", "--max-binlog-size=67108864", "--gtid-mode=ON"} {
		if !strings.Contains(read, option+"\n") {
			t.Errorf("the server does not get %s:\n%s", option, read)
		}
	}
}
