package database

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// awkward is a password that shells, SQL and patterns each read differently.
const awkward = `p'a"s\s $w&d/`

// TestPostgreSQL runs the rendered scripts against a real PostgreSQL, where the
// machine has one: a primary, a standby that streams from it, a dump, a stop.
func TestPostgreSQL(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Replicas = 2
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", KeepLast: 1, KeepDays: 1}
	primary, standby := newPod(t, spec, "shop-database-0"), newPod(t, spec, "shop-database-1")
	standby.primaryPort = primary.port

	// What an interrupted start left behind is no obstacle.
	primary.must(t, `mkdir -p "$PGDATA.new/base"`)
	primary.must(t, "sh "+primary.etc+"/prepare.sh")
	primary.must(t, "sh "+primary.etc+"/prepare.sh") // Nothing is left to do.
	primary.serve(t)
	asApp := `PGPASSWORD="$APP_PASSWORD" psql --no-psqlrc --tuples-only --no-align --set=ON_ERROR_STOP=1 ` +
		`--host=127.0.0.1 --username="$APP_USER" --dbname="$APP_DATABASE" --port=`
	primary.must(t, asApp+primary.port+` --command="CREATE TABLE orders AS SELECT generate_series(1, 1000) AS id"`)
	if out, err := primary.run(t, `psql --host=127.0.0.1 --port=`+primary.port+` --username=postgres --command="SELECT 1"`); err == nil {
		t.Errorf("the administrator came in through the network: %s", out)
	}

	standby.must(t, "sh "+standby.etc+"/prepare.sh")
	standby.serve(t)
	count := asApp + standby.port + ` --command="SELECT count(*), pg_is_in_recovery() FROM orders"`
	eventually(t, func() bool {
		out, _ := standby.run(t, count)
		return strings.TrimSpace(out) == "1000|t"
	})

	primary.must(t, "sh "+primary.etc+"/backup.sh")
	file := primary.dumped(t, ".dump", dumpManifest{Engine: "postgresql", Version: "15.4"})
	if list := primary.must(t, "pg_restore --list "+file); !strings.Contains(list, "TABLE DATA public orders") {
		t.Errorf("the dump lacks the table:\n%s", list)
	}
	// As cloud/README.md has it.
	primary.must(t, asApp+primary.port+` --command="DELETE FROM orders"`)
	primary.must(t, `pg_restore --no-password --clean --if-exists --no-owner --single-transaction --exit-on-error --dbname="$PGDATABASE" `+file)
	if out := primary.must(t, asApp+primary.port+` --command="SELECT count(*) FROM orders"`); strings.TrimSpace(out) != "1000" {
		t.Errorf("restored %s orders, want 1000", out)
	}

	primary.must(t, asApp+primary.port+` --command="CREATE TABLE notes AS SELECT md5(random()::text) FROM generate_series(1, 15000)"`)
	t.Run("a full claim", primary.recovers)
	standby.stop(t)
	primary.stop(t)
}

// usePostgreSQL puts the programs of PostgreSQL on the PATH, which Debian does not.
func usePostgreSQL(t *testing.T) {
	t.Helper()
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) > 0 {
		t.Setenv("PATH", folders[len(folders)-1]+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	for _, program := range []string{"postgres", "initdb", "pg_ctl", "psql", "pg_isready", "pg_basebackup", "pg_dump", "pg_restore"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the scripts are not run: there is no %s; on Debian, apt-get install postgresql brings it", program)
		}
	}
}

// TestPrepareLeavesForeignFilesAlone checks that a volume with other files stays as it is, for the user to inspect.
func TestPrepareLeavesForeignFilesAlone(t *testing.T) {
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		t.Run(string(engine), func(t *testing.T) {
			p := newPod(t, testSpec(engine, "15.4"), "shop-database-0")
			data := p.env["PGDATA"]
			if engine == v1.EngineMySQL {
				data = filepath.Join(p.dir, "mysql", "data")
			}
			precious := filepath.Join(data, "precious")
			mustMkdir(t, data)
			writeFile(t, precious, "x", 0o644)
			if out, err := p.run(t, "sh "+p.etc+"/prepare.sh"); err == nil {
				t.Errorf("the script succeeded: %s", out)
			}
			if _, err := os.Stat(precious); err != nil {
				t.Error(err)
			}
		})
	}
}

func testSpec(engine v1.Engine, version string) Spec {
	return Spec{
		Owner:        objectparts.Owner{Kind: "ecommerceapp", Name: "shop", Namespace: "production", UID: "u"},
		Suffix:       "-database",
		Field:        "spec.database",
		Engine:       engine,
		Version:      version,
		Replicas:     1,
		Storage:      resource.MustParse("1Gi"),
		DatabaseName: "shop",
		Username:     "shop",
	}
}

// pod stands for a pod on this machine: the rendered scripts, with the paths and
// ports of containers replaced by some of its own.
type pod struct {
	dir, etc, port, primaryPort string
	env                         map[string]string
	uid                         int
	serveCommand                string
	spec                        Spec
}

func newPod(t *testing.T, spec Spec, name string) *pod {
	t.Helper()
	dir := t.TempDir()
	p := &pod{dir: dir, etc: filepath.Join(dir, "etc"), port: freePort(t), uid: os.Geteuid(), spec: spec}
	p.primaryPort = p.port
	if p.uid == 0 {
		// PostgreSQL does not run as root.
		p.uid = 65534
		for _, path := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.env = map[string]string{
		"PATH": os.Getenv("PATH"), "LC_ALL": "C.UTF-8", "POD_NAME": name, "PRIMARY_HOST": "127.0.0.1",
		"APP_USER": `sh"op`, "APP_PASSWORD": awkward, "APP_DATABASE": "shop_db", "REPLICATION_PASSWORD": "secret", "LOGIN_SALT": "salt",
		"PGDATA": filepath.Join(dir, "pgdata"), "PGHOST": "127.0.0.1", "PGPORT": p.port, "PGUSER": `sh"op`,
		"PGPASSWORD": awkward, "PGDATABASE": "shop_db", "DB_VERSION": spec.Version, "BACKUPS": filepath.Join(dir, "backups"), "KEEP_LAST": "1", "KEEP_DAYS": "1", "CLAIM": "shop-database-backup", "DATABASE_CREATED": "false",
	}
	mustMkdir(t, p.env["BACKUPS"])
	for _, path := range []string{"etc", "tmp", "run", "mysql"} {
		mustMkdir(t, filepath.Join(dir, path))
	}
	return p.render(t)
}

// render writes the scripts and the configuration for this machine.
func (p *pod) render(t *testing.T) *pod {
	t.Helper()
	c, err := Render(p.spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range c.Objects {
		if cm, ok := o.Resource.(*corev1.ConfigMap); ok {
			for file, content := range cm.Data {
				writeFile(t, filepath.Join(p.etc, file), p.local(content), 0o644)
			}
		}
	}
	p.serveCommand = p.local(strings.Join(server(t, c).Command, " "))
	return p
}

// local replaces the paths of a container by the pod's own.
func (p *pod) local(s string) string {
	return strings.NewReplacer(
		"/tmp", filepath.Join(p.dir, "tmp"), "/var/run/postgresql", filepath.Join(p.dir, "run"),
		"/var/lib/mysql", filepath.Join(p.dir, "mysql"), "/dev/termination-log", filepath.Join(p.dir, "said"), scriptsPath, p.etc,
	).Replace(s)
}

func (p *pod) command(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	script = strings.ReplaceAll(script, "--port=5432", "--port="+p.port)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = p.dir
	// A script that failed may have left a server behind, which holds its output open.
	cmd.WaitDelay = 10 * time.Second
	for key, value := range p.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}}
	}
	return cmd
}

func (p *pod) run(t *testing.T, script string) (string, error) {
	t.Helper()
	out, err := p.command(t, script).CombinedOutput()
	return string(out), err
}

func (p *pod) must(t *testing.T, script string) string {
	t.Helper()
	prepare := filepath.Join(p.etc, prepareScript)
	if content, err := os.ReadFile(prepare); err == nil {
		// The primary and the standby share a machine, but cannot share a port.
		writeFile(t, prepare, strings.ReplaceAll(string(content), "--port=5432", "--port="+p.primaryPort), 0o644)
	}
	out, err := p.run(t, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// serve starts the server and waits until it serves.
func (p *pod) serve(t *testing.T) {
	t.Helper()
	cmd := p.command(t, "exec "+p.serveCommand+" -c port="+p.port)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("%s ended: %v\n%s", p.env["POD_NAME"], err, log.String())
		}
	})
	eventually(t, func() bool {
		_, err := p.run(t, postgreSQLServes)
		return err == nil
	})
	p.must(t, postgreSQLAlive)
}

// stop runs the preStop hook and waits until the server has shut down cleanly.
func (p *pod) stop(t *testing.T) {
	t.Helper()
	c, err := Render(p.spec)
	if err != nil {
		t.Fatal(err)
	}
	hook := server(t, c).Lifecycle.PreStop.Exec.Command
	p.must(t, hook[len(hook)-1])
	eventually(t, func() bool {
		out, _ := p.run(t, `"$(dirname "$(readlink -f "$(command -v postgres)")")"/pg_controldata "$PGDATA"`)
		return strings.Contains(out, "shut down") && !strings.Contains(out, "shutting down")
	})
	// The server writes its state before it stops to respond.
	eventually(t, func() bool {
		_, err := p.run(t, postgreSQLAlive)
		return err != nil
	})
}

func server(t *testing.T, c component.Component) corev1.Container {
	t.Helper()
	return statefulSetOf(t, c).Spec.Template.Spec.Containers[0]
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-bound.C:
			t.Fatal("it has not happened within a minute")
		}
	}
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

func mustMkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func glob(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
