package database

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPostgreSQLQuiesce has a real server, configured as rendered, write a checkpoint.
func TestPostgreSQLQuiesce(t *testing.T) {
	usePostgreSQL(t)
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.serve(t)
	asked := `psql --no-psqlrc --tuples-only --no-align --host=` + p.dir + `/run --port=` + p.port + ` --username=postgres --dbname=postgres --command=`
	checkpoint := func() string { return p.must(t, asked+`"SELECT checkpoint_lsn FROM pg_control_checkpoint()"`) }
	p.must(t, asked+`"CREATE TABLE t AS SELECT generate_series(1, 1000)"`)
	before := checkpoint()

	h := p.quiesce(t, time.Minute)
	h.awaitQuiesced(t)
	if err := h.wait(t); err != nil { // Its input is still open.
		t.Errorf("the command failed: %v: %s", err, h.errors.String())
	}
	if after := checkpoint(); after == before {
		t.Errorf("the last checkpoint is still the one at %s", before)
	}
	p.stop(t)
	h = p.quiesce(t, time.Minute)
	if h.isQuiesced() {
		t.Error("a server that is stopped was told")
	}
	if err := h.wait(t); err == nil {
		t.Error("the command succeeded without a server")
	}
}

// TestMySQLQuiesce runs the command against a real server, as the application's user.
func TestMySQLQuiesce(t *testing.T) {
	p := newMariaDB(t)
	p.sql(t, "CREATE TABLE orders (id INT PRIMARY KEY); CREATE TABLE `we``ird\\ $x'y` (id INT); CREATE VIEW few AS SELECT * FROM orders")
	for _, write := range []string{"INSERT INTO orders VALUES (1)", "INSERT INTO `we``ird\\ $x'y` VALUES (1)"} {
		h := p.quiesce(t, time.Minute)
		h.awaitQuiesced(t)
		writer := p.client(t, write)
		p.awaitBlocked(t)
		p.sql(t, "SELECT * FROM few") // Who reads does not wait.
		if err := h.release(t); err != nil {
			t.Errorf("the command failed: %v: %s", err, h.errors.String())
		}
		if err := writer.wait(t); err != nil {
			t.Errorf("%s: %v: %s", write, err, writer.errors.String())
		}
	}
	// It is not released.
	h := p.quiesce(t, time.Second)
	h.awaitQuiesced(t)
	p.sql(t, "INSERT INTO orders VALUES (2)")
	_ = h.wait(t) // Ended by its limit or by the end of its server's session.
}

// A quiesce command that fails prints why, ends by itself and blocks no client.
func TestMySQLQuiesceFails(t *testing.T) {
	p := newMariaDB(t)
	p.sql(t, "CREATE TABLE orders (id INT PRIMARY KEY)")
	refused := func(t *testing.T, want string) {
		t.Helper()
		h := p.quiesce(t, time.Minute)
		if h.isQuiesced() {
			t.Error("it says that the server was told")
		}
		if err := h.wait(t); err == nil || !strings.Contains(h.errors.String(), want) {
			t.Errorf("error %v, %q; want %q", err, h.errors.String(), want)
		}
	}
	t.Run("a transaction goes on", func(t *testing.T) {
		open := p.client(t, "BEGIN; INSERT INTO orders VALUES (1); SELECT 'begun'; DO SLEEP(50)")
		if line, err := open.output.ReadString('\n'); line != "begun\n" {
			t.Fatalf("the transaction said %q: %v", line, err)
		}
		refused(t, "Lock wait timeout exceeded")
		p.sql(t, "INSERT INTO orders VALUES (2)")
	})
	t.Run("no access", func(t *testing.T) {
		p.env["APP_PASSWORD"] = "another"
		defer func() { p.env["APP_PASSWORD"] = awkward }()
		refused(t, "Access denied")
	})
}

// An empty database has nothing to hold.
func TestMySQLQuiesceOfNothing(t *testing.T) {
	h := newMariaDB(t).quiesce(t, time.Minute)
	h.awaitQuiesced(t)
	if err := h.release(t); err != nil {
		t.Errorf("the command failed: %v: %s", err, h.errors.String())
	}
}

func TestQuiesceCommandOfAnotherEngine(t *testing.T) {
	if got, err := QuiesceCommand("oracle", time.Minute); err == nil {
		t.Errorf("there is a command: %q", got)
	}
}

// running is a command that runs.
type running struct {
	cmd    *exec.Cmd
	input  io.Closer
	output *bufio.Reader
	errors bytes.Buffer
}

func (p *pod) start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.input, r.output, cmd.Stderr = input, bufio.NewReader(output), &r.errors
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// quiesce starts the quiesce command, as the pod's container would run it.
func (p *pod) quiesce(t *testing.T, limit time.Duration) *running {
	t.Helper()
	command, err := QuiesceCommand(p.spec.Engine, limit)
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command(t, strings.ReplaceAll(p.local(command[2]), "--port=3306", "--port="+p.port))
	cmd.Args = append(cmd.Args, command[3:]...)
	return p.start(t, cmd)
}

func (r *running) isQuiesced() bool {
	line, _ := r.output.ReadString('\n')
	return line == Quiesced+"\n"
}

func (r *running) awaitQuiesced(t *testing.T) {
	t.Helper()
	if !r.isQuiesced() {
		t.Fatalf("the server was not told: %v: %s", r.wait(t), r.errors.String())
	}
}

// wait waits for the end of the command, whose input may be open.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	if rest, err := io.ReadAll(r.output); err != nil || len(rest) > 0 {
		t.Errorf("there is more: %q, %v", rest, err)
	}
	return r.cmd.Wait()
}

func (r *running) release(t *testing.T) error {
	t.Helper()
	if err := r.input.Close(); err != nil {
		t.Error(err)
	}
	return r.wait(t)
}

// newMariaDB runs a server with the application's user and its database, which it may do
// what the rendered user may.
func newMariaDB(t *testing.T) *pod {
	t.Helper()
	for _, program := range []string{"mariadbd", "mariadb-install-db", "mysql", "timeout"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the command is not run: there is no %s; on Debian, apt-get install mariadb-server brings it", program)
		}
	}
	p := newPod(t, testSpec(v1.EngineMySQL, "8.4"), "shop-database-0")
	setup := filepath.Join(p.dir, "setup.sql")
	writeFile(t, setup, strings.Join([]string{
		"SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');",
		"CREATE DATABASE shop_db;",
		`CREATE USER 'sh"op'@'%' IDENTIFIED BY '` + strings.ReplaceAll(awkward, "'", "''") + "';",
		"GRANT ALL ON `shop\\_db`.* TO 'sh\"op'@'%';", "",
	}, "\n"), 0o644)
	data := filepath.Join(p.dir, "mysql", "data")
	// MariaDB deletes what others have left in the folder for temporary files.
	p.must(t, "TMPDIR="+p.dir+"/tmp mariadb-install-db --no-defaults --datadir="+data+" --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db")
	server := p.command(t, "exec mariadbd --no-defaults --skip-name-resolve --datadir="+data+" --port="+p.port+" --bind-address=127.0.0.1 --socket="+
		p.dir+"/run/socket --pid-file="+p.dir+"/run/pid --tmpdir="+p.dir+"/tmp --init-file="+setup)
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
	eventually(t, func() bool {
		_, err := p.run(t, strings.ReplaceAll(mySQLReady, "--port=3306", "--port="+p.port))
		return err == nil
	})
	return p
}

// client starts a client of the application's.
func (p *pod) client(t *testing.T, sql string) *running {
	t.Helper()
	p.env["SQL"] = sql
	return p.start(t, p.command(t, `MYSQL_PWD="$APP_PASSWORD" exec mysql --protocol=tcp --host=127.0.0.1 --port=`+p.port+
		` --user="$APP_USER" --database="$APP_DATABASE" --batch --skip-column-names --unbuffered --execute="$SQL"`))
}

func (p *pod) sql(t *testing.T, sql string) {
	t.Helper()
	r := p.client(t, sql)
	if _, err := io.Copy(io.Discard, r.output); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", sql, err, r.errors.String())
	}
}

// awaitBlocked waits until a writer waits for a table.
func (p *pod) awaitBlocked(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		return p.must(t, `mysql --no-defaults --socket=`+p.dir+`/run/socket --user=root --batch --skip-column-names --execute="
			SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT%' AND STATE LIKE 'Waiting for table%'"`) == "1\n"
	})
}
