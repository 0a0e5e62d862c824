package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// awkward is a password and part of names that shells and SQL each read differently.
const awkward = `p'a"s\s $w&d/`

// machine stands for a pod on this machine, beside a server of its own.
type machine struct {
	dir, port string
	engine    v1.Engine
	env       map[string]string
	uid       int
}

func newMachine(t *testing.T, engine v1.Engine, programs ...string) *machine {
	t.Helper()
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) > 0 && engine == v1.EnginePostgreSQL {
		t.Setenv("PATH", folders[len(folders)-1]+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no dump is loaded: there is no %s; on Debian, apt-get install postgresql mariadb-server brings it", program)
		}
	}
	m := &machine{dir: t.TempDir(), port: freePort(t), engine: engine, uid: os.Geteuid()}
	if m.uid == 0 {
		// No server runs as root.
		m.uid = 65534
		for _, path := range []string{m.dir, filepath.Dir(m.dir)} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.env = map[string]string{
		"PATH": os.Getenv("PATH"), "LC_ALL": "C.UTF-8", "WAIT_SECONDS": "20",
		"PGHOST": "127.0.0.1", "PGPORT": m.port, "PGUSER": `sh"op`, "PGPASSWORD": awkward, "PGDATABASE": `shop'd=b\`,
		"DB_HOST": "127.0.0.1", "DB_PORT": m.port, "DB_USER": `sh"op`, "MYSQL_PWD": awkward, "DB_NAME": "shop_db",
	}
	for _, name := range []string{"tmp", "backups"} {
		m.folder(t, name)
	}
	return m
}

func (m *machine) folder(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) command(t *testing.T, script string, further ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = m.dir
	for key, value := range m.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.Env = append(cmd.Env, further...)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(m.uid), Gid: uint32(m.uid)}}
	}
	return cmd
}

func (m *machine) must(t *testing.T, script string) string {
	t.Helper()
	out, err := m.command(t, script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve runs a server until the test ends, and waits until it is ready.
func (m *machine) serve(t *testing.T, command, ready string) {
	t.Helper()
	server := m.command(t, "exec "+command)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		if err := server.Wait(); t.Failed() {
			t.Logf("the server ended: %v\n%s", err, log.String())
		}
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	for m.command(t, ready).Run() != nil {
		select {
		case <-tick.C:
		case <-bound.C:
			t.Fatal("the server is not ready after a minute")
		}
	}
}

// dump returns the LoadSpec of a file in the folder of the backups.
func (m *machine) dump(t *testing.T, name string) LoadSpec {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, "backups", name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	l := testLoad(m.engine)
	l.File, l.Bytes, l.SHA256 = name, int64(len(content)), hex.EncodeToString(sum[:])
	return l
}

// loading returns the command of the load container, for this machine.
func (m *machine) loading(t *testing.T, l LoadSpec) *exec.Cmd {
	t.Helper()
	job, _, err := Load(l)
	if err != nil {
		t.Fatal(err)
	}
	c := job.Spec.Template.Spec.Containers[0]
	var env []string
	for _, e := range c.Env {
		if e.ValueFrom == nil && m.env[e.Name] == "" {
			env = append(env, e.Name+"="+strings.Replace(e.Value, backupsPath, filepath.Join(m.dir, "backups"), 1))
		}
	}
	return m.command(t, strings.ReplaceAll(c.Command[2], "/tmp/", filepath.Join(m.dir, "tmp")+"/"), env...)
}

// load runs a load and expects how it ends and, in what it says, a text.
func (m *machine) load(t *testing.T, l LoadSpec, status int, want string) {
	t.Helper()
	out, err := m.loading(t, l).CombinedOutput()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != status || !strings.Contains(string(out), want) {
		t.Fatalf("it ended with %d, want %d and %q:\n%s", got, status, want, out)
	}
}

func (m *machine) expect(t *testing.T, query, want string) {
	t.Helper()
	if got := m.sql(t, query); got != want {
		t.Errorf("%s: %q, want %q", query, got, want)
	}
}

// sql runs SQL as the application.
func (m *machine) sql(t *testing.T, sql string) string {
	t.Helper()
	m.env["SQL"] = sql
	if m.engine == v1.EngineMySQL {
		return m.must(t, `mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --database="$DB_NAME" --batch --skip-column-names --execute="$SQL"`)
	}
	return m.must(t, `psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --command="$SQL"`)
}

func freePort(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
