package database

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

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

// sql runs SQL as the application.
func (p *pod) sql(t *testing.T, sql string) {
	t.Helper()
	p.env["SQL"] = sql
	p.must(t, `MYSQL_PWD="$APP_PASSWORD" exec mysql --protocol=tcp --host=127.0.0.1 --port=`+p.port+
		` --user="$APP_USER" --database="$APP_DATABASE" --execute="$SQL"`)
}
