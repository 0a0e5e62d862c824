package jobs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// testProof returns a dump to prove, of a database whose user provides the credentials.
func testProof(t *testing.T, engine v1.Engine) LoadSpec {
	t.Helper()
	l := testLoad(engine)
	l.Database.Username, l.Database.DatabaseName, l.Database.CredentialsSecret = "shop", "shop", "ours"
	l.Overwrite = true
	l.Fetch = &Fetch{Image: "spoke:1", Order: testOrder(t, order.Fetch)}
	return l
}

// proves runs the containers of the Job that proves a dump, but for the download, until one fails. It expects its name, how it
// ends and, in what they print, a text.
func (m *machine) proves(t *testing.T, l LoadSpec, container string, status int, want string) {
	t.Helper()
	proof := testProof(t, m.engine)
	proof.File, proof.Bytes, proof.SHA256 = l.File, l.Bytes, l.SHA256
	job, _, err := ProveDump(proof)
	if err != nil {
		t.Fatal(err)
	}
	pod, out := job.Spec.Template.Spec, ""
	for _, c := range []corev1.Container{pod.InitContainers[1], pod.Containers[0]} {
		here := strings.NewReplacer("/tmp", filepath.Join(m.dir, "tmp"), backupsPath, filepath.Join(m.dir, "backups"), "/var/lib/mysql", filepath.Join(m.dir, "mysql"),
			"/dev/termination-log", filepath.Join(m.dir, "said"), "3306", m.port)
		cmd := m.command(t, here.Replace(c.Command[2]))
		cmd.Env = []string{"PATH=" + m.env["PATH"], "LC_ALL=C.UTF-8", "TMPDIR=" + filepath.Join(m.dir, "servertmp")}
		for _, e := range c.Env {
			value := here.Replace(e.Value)
			if e.Name == "PGDATA" {
				value = filepath.Join(m.dir, "proof")
			}
			cmd.Env = append(cmd.Env, e.Name+"="+value)
		}
		file, err := os.Create(filepath.Join(m.dir, "proof.log")) // A server that goes on does not hold the output.
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = file, file
		err = cmd.Run()
		if out += m.must(t, "cat proof.log"); errors.Join(file.Close(), err) == nil {
			continue
		}
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || c.Name != container || exit.ExitCode() != status || !strings.Contains(out, want) {
			t.Fatalf("%s ended with %v, want %s with %d and %q:\n%s", c.Name, err, container, status, want, out)
		}
		return
	}
	if status != 0 || !strings.Contains(out, want) {
		t.Fatalf("it succeeded, want %s to end with %d and %q:\n%s", container, status, want, out)
	}
}

// TestProveDumpPostgreSQL proves a dump in place of what an attempt before has left, and then ones that cannot be used.
func TestProveDumpPostgreSQL(t *testing.T) {
	m := newPostgreSQL(t)
	m.sql(t, postgreSQLShop)
	monday := m.pgDump(t, "monday.dump")
	t.Cleanup(func() { m.kill(t, "proof/postmaster.pid", syscall.SIGQUIT) })
	for range 2 {
		m.proves(t, monday, "", 0, "all data was read by pg_amcheck and pg_checksums")
	}
	if got := m.must(t, "cat said"); got != "pg_amcheck and pg_checksums" {
		t.Errorf("the termination message is %q", got)
	}
	wrong := monday
	wrong.SHA256 = strings.Repeat("0", 64)
	m.proves(t, wrong, LoadContainer, ExitChecksum, "does not have the checksum of the dump")
	m.must(t, "head -c 3000 backups/monday.dump >backups/cut.dump")
	m.proves(t, m.dump(t, "cut.dump"), LoadContainer, 1, "pg_restore: error")
	m.kill(t, "proof/postmaster.pid", syscall.SIGQUIT)
	// What the server logs, with rows, is not in the message.
	if said := m.must(t, "cat proof.log"); !strings.HasPrefix(said, "pg_restore: error") {
		t.Errorf("a load that failed says: %s", said)
	}
	m.proves(t, monday, "", 0, "all data was read by pg_amcheck and pg_checksums")
}

// TestProveDumpMySQL proves a dump with MariaDB in place of MySQL, and then one that cannot be loaded.
func TestProveDumpMySQL(t *testing.T) {
	m := newMySQL(t)
	m.sql(t, mySQLShop)
	monday := m.mysqlDump(t, "monday.sql.gz")
	m.must(t, `{ echo "SET TIME_ZONE = 'Europe/Berlin';" && cat tmp/sql; } | gzip >backups/zone.sql.gz`)
	m.port = freePort(t) // The server of the Job has one of its own.
	m.folder(t, "mysql")
	m.standIn(t, "mysqld", `case "$*" in
*--initialize-insecure*) for o; do case $o in --datadir=*) exec mariadb-install-db --no-defaults "$o" --auth-root-authentication-method=normal --skip-test-db ;; esac; done ;;
esac
exec mariadbd "$@"`)
	t.Cleanup(func() {
		m.kill(t, "tmp/load.pid", syscall.SIGKILL)
		m.kill(t, "tmp/import.pid", syscall.SIGKILL)
	})
	for range 2 {
		m.proves(t, monday, "", 0, "all data was read by CHECK TABLE")
	}
	m.proves(t, m.dump(t, "zone.sql.gz"), "", 0, "all data was read by CHECK TABLE")
	m.must(t, "echo 'no SQL' | gzip >backups/bad.sql.gz")
	m.proves(t, m.dump(t, "bad.sql.gz"), LoadContainer, 1, "You have an error in your SQL syntax")
	m.kill(t, "tmp/load.pid", syscall.SIGKILL)
	m.proves(t, monday, "", 0, "all data was read by CHECK TABLE")
}

// TestProveDumpPod checks that the Job needs nothing but its claim and its order, and that its containers share the volume.
func TestProveDumpPod(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		l := testProof(t, engine)
		job, secret, err := ProveDump(l)
		if err != nil {
			t.Fatal(err)
		}
		pod := job.Spec.Template.Spec
		if secret.Name != job.Name || string(secret.Data[order.FileName]) != string(l.Fetch.Order) {
			t.Errorf("%s: the Secret is %+v", engine, secret.ObjectMeta)
		}
		want := []string{FetchContainer, LoadContainer, ImportContainer, "claim " + l.Claim, "Secret " + l.Name}
		if diff := cmp.Diff(want, needs(t, &pod)); diff != "" {
			t.Errorf("%s: containers, and what they need (-want +got):\n%s", engine, diff)
		}
		if *job.Spec.ActiveDeadlineSeconds != importSeconds || pod.TerminationGracePeriodSeconds != nil {
			t.Errorf("%s: it may take %d s, and %v s to end", engine, *job.Spec.ActiveDeadlineSeconds, pod.TerminationGracePeriodSeconds)
		}
		if !slices.Contains(pod.Containers[0].Env, corev1.EnvVar{Name: "PROVE", Value: "true"}) {
			t.Errorf("%s: the data is not read", engine)
		}
		if slices.Contains(pod.InitContainers[1].Env, corev1.EnvVar{Name: "OVERWRITE", Value: "true"}) {
			t.Errorf("%s: it replaces what is there", engine)
		}
	}
	l := testProof(t, v1.EnginePostgreSQL)
	l.Fetch = nil
	if _, _, err := ProveDump(l); err == nil {
		t.Error("a dump on its claim is in the namespace of the application, and cannot be proven")
	}
}

// needs returns the containers of a pod, each of which can write to the volume with the data, and what the pod needs.
func needs(t *testing.T, pod *corev1.PodSpec) (all []string) {
	t.Helper()
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		all = append(all, c.Name)
		if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == database.DataVolume && !m.ReadOnly }) {
			t.Errorf("%s does not mount the volume: %v", c.Name, c.VolumeMounts)
		}
		if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil }); i >= 0 {
			t.Errorf("%s needs %s", c.Name, c.Env[i].Name)
		}
	}
	for _, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil {
			all = append(all, "claim "+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Secret != nil {
			all = append(all, "Secret "+v.Secret.SecretName)
		}
	}
	return all
}
