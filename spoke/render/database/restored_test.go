package database

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// isRestored reports whether the next start of the primary sets all passwords.
func isRestored(t *testing.T, data string) bool {
	t.Helper()
	_, err := os.Stat(data + RestoredSuffix)
	return err == nil
}

// TestPostgreSQLRestored starts pods on data that was imported from a snapshot: they set all passwords, with and without
// a login Secret, and although the note beside the data says that it has them.
func TestPostgreSQLRestored(t *testing.T) {
	usePostgreSQL(t)
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
	owner, data := p.env["APP_USER"], p.env["PGDATA"]
	p.must(t, "sh "+p.etc+"/prepare.sh")
	imported := func() { writeFile(t, data+RestoredSuffix, "", 0o666) }

	imported()
	p.env["APP_USER"] = "other"
	if out, err := p.run(t, "sh "+p.etc+"/prepare.sh >"+p.dir+"/out 2>&1"); err == nil || !isRestored(t, data) {
		t.Errorf("data without the user is taken for prepared: %s", out)
	}
	if out := p.must(t, "tail -n 1 out; pg_ctl stop --mode=fast >/dev/null"); !strings.Contains(out, "did not take the password of the user other: the Secret with the credentials") {
		t.Errorf("the log ends with %s", out)
	}

	p.env["APP_USER"], p.env["APP_PASSWORD"], p.env["REPLICATION_PASSWORD"] = owner, `n'e"w\`, "of here"
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.serve(t)
	p.expectLogins(t, "without a login Secret", map[[2]string]bool{{owner, awkward}: false, {owner, `n'e"w\`}: true})
	if out, err := p.run(t, `PGPASSWORD="of here" psql --no-psqlrc --no-password --quiet "host=127.0.0.1 port=`+p.port+` user=replication replication=true" --command=IDENTIFY_SYSTEM`); err != nil {
		t.Errorf("replicas cannot copy the data: %s", out)
	}
	p.stop(t)
	if isRestored(t, data) {
		t.Error("each start sets the passwords again")
	}

	login := Login{Owner: owner, Username: SecondLogin(owner), Password: "later", Rotation: 1}
	p.prepareFor(t, login)
	p.serve(t)
	p.must(t, `psql --no-psqlrc --quiet --host=`+p.dir+`/run --port=`+p.port+` --username=postgres --dbname=postgres --command="ALTER ROLE \"sh\"\"op_2\" PASSWORD 'of then'"`)
	p.stop(t)
	imported()
	p.prepareFor(t, login)
	p.serve(t)
	p.expectLogins(t, "with a login Secret", map[[2]string]bool{{owner, "later"}: true, {SecondLogin(owner), "later"}: true, {SecondLogin(owner), "of then"}: false})
	p.stop(t)
}

// newRestoredMySQL returns a pod with data whose passwords are not known, not even that of root.
func newRestoredMySQL(t *testing.T) *pod {
	t.Helper()
	for _, program := range []string{"mysqld", "mariadb-install-db", "mysql", "mysqladmin"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the script is not run: there is no %s; on Debian, apt-get install mariadb-server brings it", program)
		}
	}
	p := newPod(t, testSpec(v1.EngineMySQL, "8.4"), "shop-database-0")
	data := filepath.Join(p.dir, "mysql", "data")
	p.env["TMPDIR"] = filepath.Join(p.dir, "servertmp")
	mustMkdir(t, p.env["TMPDIR"])
	// What MariaDB does not have.
	config, err := os.ReadFile(filepath.Join(p.etc, "server.cnf"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("gtid-mode", "loose-gtid-mode", "enforce-gtid", "loose-enforce-gtid", "plugin-load-add=mysql_clone.so\n", "", "port=3306", "port="+p.port).Replace(string(config))
	writeFile(t, filepath.Join(p.etc, "server.cnf"), text, 0o644)
	writeFile(t, filepath.Join(p.dir, "setup.sql"), strings.Join([]string{
		"CREATE DATABASE shop_db;", "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');",
		`CREATE USER 'sh"op'@'%' IDENTIFIED BY 'of then';`, `GRANT ALL ON shop_db.* TO 'sh"op'@'%';`,
		"CREATE USER replication@'%' IDENTIFIED BY 'of then';", "ALTER USER root@localhost IDENTIFIED BY 'of then';", "",
	}, "\n"), 0o644)
	p.must(t, "mariadb-install-db --no-defaults --datadir="+data+" --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db")
	p.must(t, "mysqld --no-defaults --datadir="+data+" --skip-networking --socket="+p.dir+"/run/socket --pid-file="+p.dir+"/run/pid --init-file="+p.dir+"/setup.sql >/dev/null 2>&1 &\n"+
		"until MYSQL_PWD='of then' mysqladmin --protocol=socket --socket=run/socket --user=root shutdown 2>/dev/null; do sleep 0.2; done; wait")
	writeFile(t, data+RestoredSuffix, "", 0o666)
	return p
}

// TestMySQLRestored starts a pod on data that was imported from a snapshot. The server is MariaDB, which has no second
// password that a user retains.
func TestMySQLRestored(t *testing.T) {
	p := newRestoredMySQL(t)
	data := filepath.Join(p.dir, "mysql", "data")
	p.env["ROOT_PASSWORD"], p.env["REPLICATION_PASSWORD"] = `r'oo"t\`, `r'epl"\`
	p.env["APP_USER"] = "other"
	if _, err := p.run(t, "sh "+p.etc+"/prepare.sh >"+p.dir+"/out 2>&1"); err == nil || !isRestored(t, data) {
		t.Error("data without the user is taken for prepared")
	}
	shutdown := `MYSQL_PWD="$ROOT_PASSWORD" mysqladmin --protocol=socket --socket=` + p.dir + `/tmp/prepare.sock --user=root shutdown`
	if out := p.must(t, "tail -n 1 out; "+shutdown); !strings.Contains(out, "did not take the password of the user other") {
		t.Errorf("the log ends with %s", out)
	}

	p.env["APP_USER"] = `sh"op`
	p.must(t, "sh "+p.etc+"/prepare.sh >/dev/null 2>&1")
	if left := glob(t, filepath.Join(p.dir, "tmp")); isRestored(t, data) || len(left) > 0 {
		t.Errorf("after the passwords are set there are %q, and a request to set them: %t", left, isRestored(t, data))
	}
	server := p.command(t, "exec mysqld --defaults-extra-file="+p.etc+"/server.cnf --datadir="+data+" --socket="+p.dir+"/run/socket --pid-file="+p.dir+"/run/pid --bind-address=127.0.0.1 --server-id=1")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(t, func() bool {
		_, err := p.run(t, "MYSQL_PWD= mysqladmin --protocol=socket --socket=run/socket --user=root --silent ping")
		return err == nil
	})
	for _, tt := range []struct {
		user, password string
		accepted       bool
	}{
		{"root", p.env["ROOT_PASSWORD"], true}, {"root", "of then", false}, {`sh"op`, awkward, true}, {`sh"op`, "of then", false},
		{"replication", p.env["REPLICATION_PASSWORD"], true}, {"replication", "of then", false},
	} {
		p.env["USER"], p.env["MYSQL_PWD"] = tt.user, tt.password
		if out, err := p.run(t, `mysql --protocol=socket --socket=run/socket --user="$USER" --execute="SELECT 1"`); (err == nil) != tt.accepted {
			t.Errorf("%s is accepted with %q: %t, want %t: %s", tt.user, tt.password, err == nil, tt.accepted, out)
		}
	}
}
