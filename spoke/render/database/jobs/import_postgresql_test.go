package jobs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// importing returns the command of the import container, for this machine. What a server that was killed has left
// does not hold the output.
func (m *machine) importing(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	i := testImport(m.engine)
	i.Database.CredentialsSecret, i.HasCredentials = "ours", false
	script := mustImport(t, i).Spec.Template.Spec.Containers[0].Command[2]
	script = strings.NewReplacer(
		"/tmp", filepath.Join(m.dir, "tmp"), "/var/lib/mysql", filepath.Join(m.dir, "mysql"), "/dev/termination-log", filepath.Join(m.dir, "said"),
	).Replace(script)
	cmd := m.command(t, script)
	cmd.Env = append([]string{
		"PATH=" + m.env["PATH"], "LC_ALL=C.UTF-8", "TMPDIR=" + filepath.Join(m.dir, "servertmp"), "PGDATA=" + filepath.Join(m.dir, "data"), "DIR=" + m.dir,
	}, env...)
	return cmd
}

// imports runs an import and expects how it ends and, in the last line, a text.
func (m *machine) imports(t *testing.T, status int, want string, env ...string) {
	t.Helper()
	log := filepath.Join(m.dir, "import.log")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := m.importing(t, env...)
	cmd.Stdout, cmd.Stderr = file, file
	err = cmd.Run()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	out := m.must(t, "cat "+log)
	last := out[strings.LastIndex(out, "\n")+1:]
	if got != status || !strings.Contains(last, want) {
		t.Fatalf("it ended with %d, want %d and %q:\n%s", got, status, want, out)
	}
	said := m.must(t, "cat said 2>/dev/null || true; rm -f said")
	read, proven := strings.CutPrefix(last, "all data was read by ")
	if refused := status >= ExitNoData; refused != (said == last) || !refused && said != map[bool]string{true: read}[proven] {
		t.Errorf("the termination message is %q, and the last line of the log %q", said, last)
	}
}

// standIn puts a program before one of the same name. An empty script takes it away.
func (m *machine) standIn(t *testing.T, name, script string) {
	t.Helper()
	m.folder(t, "bin")
	path := filepath.Join(m.dir, "bin", name)
	if script == "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if bin := filepath.Dir(path) + ":"; !strings.HasPrefix(m.env["PATH"], bin) {
		m.env["PATH"] = bin + m.env["PATH"]
	}
}

// newSnapshot returns a machine with the data of a server that crashed. It has the files and settings of a
// former replica, slots and a subscription, and settings with which no server of another image would start.
func newSnapshot(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, v1.EnginePostgreSQL, "postgres", "initdb", "psql", "pg_ctl", "pg_isready", "pg_controldata")
	m.env["PGDATA"] = filepath.Join(m.dir, "data")
	m.must(t, `initdb --username=postgres --encoding=UTF8 --auth=trust --no-sync >/dev/null; cp "$PGDATA/pg_hba.conf" hba.conf`)
	t.Cleanup(func() { m.end(t) })
	m.start(t, "wal_level=logical")
	m.admin(t, "postgres", `CREATE ROLE "sh""op" LOGIN`)
	m.admin(t, "postgres", `CREATE DATABASE "shop'd=b\" OWNER "sh""op"`)
	m.admin(t, m.env["PGDATABASE"], `CREATE TABLE orders AS SELECT generate_series(1, 1000) AS id; ALTER TABLE orders OWNER TO "sh""op"`)
	m.admin(t, m.env["PGDATABASE"], `CREATE SUBSCRIPTION "su b" CONNECTION 'host=127.0.0.1 port=`+newPublisher(t)+` dbname=other' PUBLICATION p WITH (connect = false, slot_name = 'theirs')`)
	for _, sql := range []string{
		// It has not copied its table yet. The publisher has a slot for that, which is dropped with the subscription.
		`SET allow_system_table_mods = on; INSERT INTO pg_subscription_rel SELECT oid, 'orders'::regclass, 'd' FROM pg_subscription`,
		`ALTER SUBSCRIPTION "su b" ENABLE`, `ALTER DATABASE "shop'd=b\" SET default_transaction_read_only = on`,
	} {
		m.admin(t, m.env["PGDATABASE"], sql)
	}
	for _, sql := range []string{
		"SELECT pg_create_physical_replication_slot('physical', true)", "SELECT pg_create_logical_replication_slot('logical', 'pgoutput')",
		"ALTER SYSTEM SET shared_preload_libraries = 'nowhere'", "ALTER SYSTEM SET ssl = on", "ALTER SYSTEM SET recovery_target_time = '2020-01-01 00:00:00+00'",
		"ALTER SYSTEM SET primary_conninfo = 'host=source'", "ALTER SYSTEM SET restore_command = 'touch /nowhere'", "ALTER SYSTEM SET work_mem = '9MB'",
	} {
		m.admin(t, "postgres", sql)
	}
	m.must(t, `pg_ctl stop --mode=immediate >/dev/null
touch "$PGDATA/standby.signal" "$PGDATA.logins"
sed -i 's/trust$/reject/' "$PGDATA/pg_hba.conf"
echo "no_such_setting = 1" >"$PGDATA/postgresql.conf"`)
	m.stalePID(t)
	return m
}

// newPublisher returns a port of the machine, to which nothing may connect.
func newPublisher(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
			t.Error("the publisher of the source was connected to")
		}
	}()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// stalePID writes the pid file of a server that was killed in another container. Here another process of the same
// user has its number.
func (m *machine) stalePID(t *testing.T) {
	t.Helper()
	other := m.command(t, "exec sleep 600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	m.env["OTHER"] = fmt.Sprint(other.Process.Pid)
	m.must(t, `printf '%s\n%s\n1\n5432\n/var/run/postgresql\n*\n' "$OTHER" "$PGDATA" >"$PGDATA/postmaster.pid"`)
}

// start runs a server on the data, without what newSnapshot sets for servers of another image.
func (m *machine) start(t *testing.T, settings ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "server.conf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	options := "-c config_file=" + m.dir + "/server.conf -c hba_file=" + m.dir + "/hba.conf -c fsync=off -c shared_preload_libraries= -c ssl=off" +
		" -c max_logical_replication_workers=0 -c listen_addresses= -c unix_socket_directories=" + m.dir + " -c port=" + m.port
	for _, setting := range settings {
		options += " -c " + setting
	}
	m.must(t, `pg_ctl start --wait --log=server.log --options="`+options+`" >/dev/null`)
}

// end ends a server that runs on the data.
func (m *machine) end(t *testing.T) {
	t.Helper()
	m.kill(t, filepath.Join("data", "postmaster.pid"), syscall.SIGQUIT)
}

// kill ends the process that a pid file names, and waits until it has ended.
func (m *machine) kill(t *testing.T, file string, signal syscall.Signal) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, file))
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid <= 1 {
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	for syscall.Kill(pid, signal) == nil {
		select {
		case <-tick.C:
		case <-bound.C:
			t.Errorf("process %d does not end", pid)
			return
		}
	}
}

// control returns a value of the control file.
func (m *machine) control(t *testing.T, name string) string {
	t.Helper()
	return m.must(t, `LC_ALL=C pg_controldata | sed -n "s/^`+name+`: *//p"`)
}

const timelineOfData = "Latest checkpoint's TimeLineID"

// expectImported checks that the data is that of one of some timelines, complete, and without replication, and that the next start of
// the primary will set its passwords.
func (m *machine) expectImported(t *testing.T, timelines ...string) {
	t.Helper()
	if got, state := m.control(t, timelineOfData), m.control(t, "Database cluster state"); !slices.Contains(timelines, got) || state != "shut down" {
		t.Errorf("the data is of timeline %s and %s, want %s and shut down", got, state, timelines)
	}
	if got := m.must(t, `ls -d "$PGDATA".* "$PGDATA"/*.signal "$PGDATA/postmaster.pid" 2>/dev/null || true`); got != filepath.Join(m.dir, "data.restored") {
		t.Errorf("beside the data and for the next start there are %s", got)
	}
	if got := m.must(t, `grep -c -e recovery -e primary -e restore "$PGDATA/postgresql.auto.conf" || grep work_mem "$PGDATA/postgresql.auto.conf"`); got != "0\nwork_mem = '9MB'" {
		t.Errorf("settings of the source: %s", got)
	}
	m.start(t)
	m.env["PGHOST"] = m.dir
	m.expect(t, "SELECT count(*) FROM orders", "1000")
	m.expect(t, "SELECT (SELECT count(*) FROM pg_catalog.pg_replication_slots), (SELECT count(*) FROM pg_catalog.pg_stat_subscription)", "0|0")
	m.must(t, "pg_ctl stop --mode=fast >/dev/null")
}

// TestImportPostgreSQL imports the data of a server that crashed, twice: each time it has a new timeline.
func TestImportPostgreSQL(t *testing.T) {
	m := newSnapshot(t)
	login := []string{"APP_USER=" + m.env["PGUSER"], "APP_DATABASE=" + m.env["PGDATABASE"]}
	m.imports(t, 0, "the data is that of a new timeline", login...)
	m.expectImported(t, "2")
	m.stalePID(t)
	m.imports(t, 0, "the data is that of a new timeline", login...)
	m.expectImported(t, "3")
	m.imports(t, ExitOtherLogin, "does not have the user other and the database", "APP_USER=other", login[1])
	m.end(t)
	m.imports(t, ExitOtherLogin, "the database other of the credentials: refer to a Secret with those of the data by spec.database.credentialsSecretRef", login[0], "APP_DATABASE=other")
	m.end(t)
	m.stalePID(t)
	m.imports(t, 0, "the data is that of a new timeline") // No credentials are known.
	m.expectImported(t, "6")
}

// TestImportPostgreSQLInterrupted ends attempts where they could leave something: after the files for the recovery are written,
// after the recovery, and when everything is done but the stop.
func TestImportPostgreSQLInterrupted(t *testing.T) {
	m := newSnapshot(t)
	const crash = `cp "$PGDATA/postmaster.pid" "$DIR/pid"; pg_ctl stop --mode=immediate >/dev/null; mv "$DIR/pid" "$PGDATA/postmaster.pid"`
	crashes := strings.ReplaceAll(crash, "pg_ctl", m.must(t, "command -v pg_ctl"))
	installed := func(program string) string { return "exec " + m.must(t, "command -v "+program) + ` "$@"` }
	for i, point := range []struct{ program, script, timeline string }{
		{"pg_ctl", "exit 1", "1"},
		{"psql", `case "$*" in *pg_is_in_recovery*) ` + installed("psql") + " ;; esac; " + crashes + "; exit 1", "2"},
		{"pg_ctl", "[ $1 = stop ] || " + installed("pg_ctl") + "; " + crashes + "; exit 1", "3"},
		{"pg_isready", crashes + "; exit 1", "3 4"}, // While it recovers, or soon after.
	} {
		m.standIn(t, point.program, point.script)
		m.imports(t, 1, "")
		if got := m.control(t, timelineOfData); !strings.Contains(point.timeline, got) {
			t.Errorf("%d: timeline %s, want %s", i, got, point.timeline)
		}
		m.standIn(t, point.program, "")
		if _, err := os.Stat(filepath.Join(m.dir, "data.restored")); err == nil {
			t.Errorf("%d: an import that failed counts as one", i)
		}
		m.stalePID(t)
	}
	m.imports(t, 0, "the data is that of a new timeline")
	m.expectImported(t, "4", "5")
}

// TestImportPostgreSQLRefuses checks that volumes with something else stay as they are.
func TestImportPostgreSQLRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		files, want string
		status      int
	}{
		"an empty volume":       {"", "the volume has no database of PostgreSQL: the snapshot is of another volume", ExitNoData},
		"an empty directory":    {"mkdir data", "the volume has no database of PostgreSQL", ExitNoData},
		"one of MySQL":          {"mkdir -p data/mysql; touch data/ibdata1", "the volume has no database of PostgreSQL", ExitNoData},
		"a half made one":       {"mkdir data.new; echo 15 >data.new/PG_VERSION", "the volume has no database of PostgreSQL", ExitNoData},
		"another major version": {"mkdir data; echo 14 >data/PG_VERSION", "the data is of PostgreSQL 14, and the server is PostgreSQL 15: restore with spec.database.version 14", ExitVersion},
		"an old version":        {"mkdir data; echo 9.6 >data/PG_VERSION", "the data is of PostgreSQL 9.6", ExitVersion},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, v1.EnginePostgreSQL)
			m.standIn(t, "postgres", `echo "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"`)
			m.must(t, tt.files)
			const list = "find . -path ./data -o -path './data*' | sort"
			before := m.must(t, list)
			m.imports(t, tt.status, tt.want)
			if after := m.must(t, list); after != before {
				t.Errorf("the files were\n%s\nand are\n%s", before, after)
			}
		})
	}
}

// TestImportPostgreSQLVersions compares how the recovery is asked for. The machines that run the tests have one version of
// PostgreSQL: what servers before 12 do with recovery.conf, and other ones with recovery.signal, is not shown.
func TestImportPostgreSQLVersions(t *testing.T) {
	for version, signal := range map[string]bool{"10.23": false, "11.22": false, "12.22": true, "13.4": true, "18beta1": true, "18.0": true} {
		t.Run(version, func(t *testing.T) {
			m := newMachine(t, v1.EnginePostgreSQL)
			major := version[:2]
			m.standIn(t, "postgres", `echo "postgres (PostgreSQL) `+version+`"`)
			m.standIn(t, "psql", "echo f")
			m.standIn(t, "pg_isready", "exit 0")
			m.standIn(t, "pg_ctl", `case $1 in start) printf '%s\n' "$*" >"$DIR/asked"; cat "$PGDATA/recovery.conf" >"$DIR/conf" 2>/dev/null; [ -e "$PGDATA/recovery.signal" ] && echo signal >>"$DIR/conf" || true ;; esac`)
			m.must(t, "mkdir data; echo "+major+" >data/PG_VERSION; touch data/recovery.conf data/standby.signal")
			m.imports(t, 0, "the data is that of a new timeline")
			asked, conf := m.must(t, "cat asked"), m.must(t, "cat conf")
			if got := strings.Contains(asked, " -c restore_command=false "); got != signal || strings.Contains(asked, "recovery_target") != signal || !strings.Contains(asked, "-c hot_standby=off ") {
				t.Errorf("the server is started with %s", asked)
			}
			if want := map[bool]string{true: "signal", false: "restore_command = 'false'"}[signal]; conf != want {
				t.Errorf("the recovery is asked for by %q, want %q", conf, want)
			}
		})
	}
}
