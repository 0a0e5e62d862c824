package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// newMySQLSnapshot returns a machine with the data of a MariaDB that was killed. What only MySQL has is not shown: its
// auto.cnf, by which a server without the file has a new UUID, and its upgrade of files. There is a file of that name.
func newMySQLSnapshot(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, v1.EngineMySQL, "mysqld", "mariadb-install-db", "mysql", "mysqladmin")
	for _, name := range []string{"run", "servertmp", "mysql"} {
		m.folder(t, name)
	}
	data := filepath.Join(m.dir, "mysql", "data")
	// MariaDB deletes what others have left in the folder for temporary files.
	m.must(t, "TMPDIR="+m.dir+"/servertmp mariadb-install-db --no-defaults --datadir="+data+" --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db")
	setup := strings.Join([]string{
		"SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');",
		`CREATE USER 'sh"o\p''s'@'%' IDENTIFIED BY 'unknown';`, "CREATE DATABASE `shop_d'b`;",
		"CREATE TABLE `shop_d'b`.orders ENGINE=InnoDB AS SELECT seq AS id FROM mysql.seq_1_to_1000;",
		"CREATE EVENT `shop_d'b`.e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM orders LIMIT 1;",
		"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'replication';",
		"ALTER USER root@localhost IDENTIFIED BY 'unknown';", "",
	}, "\n")
	if err := os.WriteFile(filepath.Join(m.dir, "setup.sql"), []byte(setup), 0o644); err != nil {
		t.Fatal(err)
	}
	server := m.command(t, "exec mysqld --no-defaults --datadir="+data+" --skip-networking --log-bin=binlog --server-id=1 --socket="+m.dir+"/run/socket --pid-file="+m.dir+"/run/pid --tmpdir="+m.dir+"/servertmp")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	m.must(t, `export MYSQL_PWD=; until mysqladmin --protocol=socket --socket=run/socket --user=root --silent ping >/dev/null 2>&1; do sleep 0.1; done; mysql --protocol=socket --socket=run/socket --user=root <setup.sql`)
	_ = server.Process.Kill()
	_ = server.Wait()
	m.must(t, "echo '[auto]' >mysql/data/auto.cnf; touch mysql/data.logins")
	t.Cleanup(func() { m.kill(t, "tmp/import.pid", syscall.SIGKILL) })
	return m
}

// expectMySQLImported checks that the data is complete and is no replica's any more, by a server without accounts.
func (m *machine) expectMySQLImported(t *testing.T) {
	t.Helper()
	if got := m.must(t, "cd mysql && ls -d data.* data/auto.cnf 2>/dev/null || true"); got != "data.restored" {
		t.Errorf("beside the data and of the source there are %s", got)
	}
	server := m.command(t, "exec mysqld --no-defaults --datadir="+m.dir+"/mysql/data --skip-networking --skip-grant-tables --log-bin=binlog --server-id=1 --skip-slave-start --socket="+m.dir+"/run/socket --pid-file="+m.dir+"/run/pid --tmpdir="+m.dir+"/servertmp")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	m.must(t, `export MYSQL_PWD=; until mysqladmin --protocol=socket --socket=run/socket --user=root --silent ping >/dev/null 2>&1; do sleep 0.1; done`)
	if got := m.must(t, "MYSQL_PWD= mysql --protocol=socket --socket=run/socket --user=root --batch --skip-column-names --execute='SELECT COUNT(*) FROM `shop_d'\"'\"'b`.orders; SHOW SLAVE STATUS'"); got != "1000" {
		t.Errorf("orders, and what is followed: %s", got)
	}
	m.must(t, "mysqladmin --protocol=socket --socket=run/socket --user=root shutdown")
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// TestImportMySQL imports the data of a server that was killed, without any of its passwords, also again and after an
// attempt that was killed.
func TestImportMySQL(t *testing.T) {
	m := newMySQLSnapshot(t)
	login := []string{`APP_USER=sh"o\p's`, "APP_DATABASE=shop_d'b"}
	m.standIn(t, "mysql", `kill -KILL "$(cat "$DIR/tmp/import.pid")"; exit 1`)
	m.imports(t, 1, "", login...)
	m.standIn(t, "mysql", "")
	if _, err := os.Stat(filepath.Join(m.dir, "mysql", "data.restored")); err == nil {
		t.Error("an import that failed counts as one")
	}
	for range 2 {
		m.imports(t, 0, "the data is that of a new server", login...)
		m.expectMySQLImported(t)
	}
	m.imports(t, ExitOtherLogin, "does not have the user other and the database shop_d'b of the credentials", "APP_USER=other", login[1])
	m.kill(t, "tmp/import.pid", syscall.SIGKILL)
	m.imports(t, ExitOtherLogin, "refer to a Secret with those of the data by spec.database.credentialsSecretRef", login[0], "APP_DATABASE=SHOP_D'B")
	m.kill(t, "tmp/import.pid", syscall.SIGKILL)
	m.imports(t, 0, "the data is that of a new server") // No credentials are known.
	m.expectMySQLImported(t)
}

// TestImportMySQLRefuses checks what the import does with volumes of something else, and with servers that do not start.
func TestImportMySQLRefuses(t *testing.T) {
	const ok, data = "exit 0", "mkdir -p mysql/data/mysql"
	says := func(line string) string {
		return `for a; do case $a in --log-error=*) echo "` + line + `" >"${a#*=}" ;; esac; done; exit 1`
	}
	for name, tt := range map[string]struct {
		files, server, want string
		status              int
	}{
		"an empty volume":    {"mkdir -p mysql", ok, "the volume has no database of MySQL: the snapshot is of another volume", ExitNoData},
		"one of PostgreSQL":  {"mkdir -p mysql/pgdata", ok, "the volume has no database of MySQL", ExitNoData},
		"files of 8.4 in 8":  {data, says("[ERROR] [MY-014061] [InnoDB] Invalid MySQL server downgrade: Cannot downgrade from 80400 to 80036."), "the data is of a version of MySQL that this server cannot use", ExitVersion},
		"files of 8.0 in 9":  {data, says("[ERROR] [MY-014060] [Server] Invalid MySQL server upgrade: Cannot upgrade from 80036 to 90000."), "the data is of a version of MySQL", ExitVersion},
		"before 8.0.35":      {data, says("[ERROR] [MY-013171] [InnoDB] Cannot boot server version 80019 on data directory built by version 80036. Downgrade is not supported"), "the data is of a version of MySQL", ExitVersion},
		"one that is broken": {data, says("[ERROR] [MY-012592] [InnoDB] Operating system error number 5 in a file operation."), "the server does not run on the data", 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, v1.EngineMySQL)
			m.standIn(t, "mysqld", tt.server)
			m.standIn(t, "mysqladmin", "exit 1")
			m.must(t, tt.files)
			m.imports(t, tt.status, tt.want)
		})
	}
}
