package dbtest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
)

func find(kind database.Engine) (engine, error) {
	if kind == database.PostgreSQL {
		initdb, err := locate([]string{"initdb", "/usr/lib/postgresql/*/bin/initdb", "/usr/local/pgsql/bin/initdb"},
			"no PostgreSQL server here; for this test: apt-get install postgresql")
		return engine{name: kind, programs: map[string]string{
			"initdb": initdb, "postgres": filepath.Join(filepath.Dir(initdb), "postgres"),
		}}, err
	}
	const missing = "no MySQL or MariaDB server here; for this test: apt-get install --no-install-recommends mariadb-server"
	server, err := locate([]string{"mariadbd", "mysqld", "/usr/sbin/mariadbd", "/usr/sbin/mysqld"}, missing)
	if err != nil {
		return engine{}, err
	}
	e := engine{name: kind, programs: map[string]string{"server": server}}
	if filepath.Base(server) == "mariadbd" {
		e.programs["install"], err = locate([]string{"mariadb-install-db", "/usr/bin/mariadb-install-db"}, missing)
	}
	return e, err
}

// setup returns the file that gives the server its user.
func (e engine) setup(password string) string {
	if e.name == database.PostgreSQL {
		return password + "\n"
	}
	var b strings.Builder
	for _, host := range []string{"%", "localhost", "127.0.0.1"} {
		// MySQL reads one statement a line.
		fmt.Fprintf(&b, "CREATE USER IF NOT EXISTS '%[1]s'@'%[2]s' IDENTIFIED BY '%[3]s';\nGRANT ALL ON *.* TO '%[1]s'@'%[2]s';\n",
			user, host, password)
	}
	return b.String()
}

// create returns the command that makes the server's data.
func (e engine) create(s *Server) []string {
	data := s.path("data")
	if e.name == database.PostgreSQL {
		return []string{
			e.programs["initdb"], "--pgdata=" + data, "--username=" + user, "--pwfile=" + s.path("setup"),
			"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
		}
	}
	if install := e.programs["install"]; install != "" {
		return []string{
			install, "--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db",
			"--skip-name-resolve", "--innodb-log-file-size=8M",
		}
	}
	return []string{e.programs["server"], "--no-defaults", "--initialize-insecure", "--datadir=" + data}
}

// run returns the command of the server. It writes all that a killed process needs to
// recover, and leaves out what only a lost machine would need.
func (e engine) run(s *Server) []string {
	if e.name == database.PostgreSQL {
		return []string{
			e.programs["postgres"], "-D", s.path("data"), "-p", strconv.Itoa(s.port), "-h", "127.0.0.1", "-k", "",
			"-c", "fsync=off", "-c", "shared_buffers=16MB",
		}
	}
	return []string{
		e.programs["server"], "--no-defaults", "--datadir=" + s.path("data"), "--port=" + strconv.Itoa(s.port),
		"--bind-address=127.0.0.1", "--socket=" + s.path("socket"), "--pid-file=" + s.path("pid"),
		"--init-file=" + s.path("setup"), "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=16M",
	}
}

// admin returns the database that is there from the beginning.
func (e engine) admin() string {
	if e.name == database.PostgreSQL {
		return "postgres"
	}
	return "mysql"
}

func (e engine) createDatabase(name string) string { return "CREATE DATABASE " + name }
