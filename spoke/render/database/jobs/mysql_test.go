package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// newMySQL runs a server in which the application has all of its database.
func newMySQL(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, v1.EngineMySQL, "mariadbd", "mariadb-install-db", "mysql", "mysqladmin", "mysqldump", "gzip")
	for _, name := range []string{"run", "servertmp"} {
		m.folder(t, name)
	}
	setup := filepath.Join(m.dir, "setup.sql")
	if err := os.WriteFile(setup, []byte(strings.Join([]string{
		"CREATE DATABASE shop_db;", "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');",
		`CREATE USER 'sh"op'@'%' IDENTIFIED BY '` + strings.ReplaceAll(awkward, "'", "''") + "';",
		"GRANT ALL ON `shop\\_db`.* TO 'sh\"op'@'%';", "",
	}, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(m.dir, "data")
	// MariaDB deletes what others have left in the folder for temporary files.
	m.must(t, "TMPDIR="+m.dir+"/servertmp mariadb-install-db --no-defaults --datadir="+data+" --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db")
	m.serve(t, "mariadbd --no-defaults --skip-name-resolve --datadir="+data+" --port="+m.port+" --bind-address=127.0.0.1 --socket="+
		m.dir+"/run/socket --pid-file="+m.dir+"/run/pid --tmpdir="+m.dir+"/servertmp --init-file="+setup,
		`mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --database="$DB_NAME" --execute="SELECT 1"`)
	return m
}

// mysqlDump dumps as the CronJob does, but for the option that MariaDB's client lacks.
func (m *machine) mysqlDump(t *testing.T, name string) LoadSpec {
	t.Helper()
	m.must(t, `mysqldump --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --single-transaction --quick `+
		`--routines --events --triggers --no-tablespaces "$DB_NAME" >tmp/sql && gzip -c tmp/sql >backups/`+name)
	return m.dump(t, name)
}

const mySQLShop = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(99)); " +
	"CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, FOREIGN KEY (customer) REFERENCES customers (id)); " +
	"CREATE TABLE `we``ird\\ $x'y` (id INT, b BLOB); INSERT INTO `we``ird\\ $x'y` VALUES (1, 0x000A0D1A275C21); " +
	"INSERT INTO customers VALUES (1, '\\\\! touch /tmp/pwned \n\\\\! x'), (2, 'b'); INSERT INTO orders VALUES (1, 1), (2, 2); " +
	"CREATE VIEW few AS SELECT * FROM orders; " +
	"CREATE FUNCTION `o``ne` () RETURNS INT DETERMINISTIC RETURN 1; CREATE PROCEDURE two () SELECT 2; " +
	"CREATE EVENT three ON SCHEDULE EVERY 1 YEAR DO SELECT 3; CREATE TRIGGER four BEFORE INSERT ON orders FOR EACH ROW SET @x = 1"

const everythingOfMySQL = "SELECT (SELECT COUNT(*) FROM few), (SELECT COUNT(*) FROM customers), `o``ne`(), " +
	"(SELECT HEX(b) FROM `we``ird\\ $x'y`), (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()), " +
	"(SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()), " +
	"(SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()), " +
	"(SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE())"

const allOfMySQL = "2\t2\t1\t000A0D1A275C21\t4\t2\t1\t1"

// TestMySQLLoad takes a database there and back on a real server.
func TestMySQLLoad(t *testing.T) {
	m := newMySQL(t)
	m.sql(t, mySQLShop)
	m.expect(t, everythingOfMySQL, allOfMySQL)
	monday := m.mysqlDump(t, "monday.sql.gz")

	m.load(t, monday, ExitNotEmpty, "the database is not empty: it has 3 tables and 4 other objects")
	m.expect(t, everythingOfMySQL, allOfMySQL)

	m.sql(t, "CREATE TABLE `lat``er` (id INT); CREATE VIEW later_view AS SELECT * FROM few; CREATE PROCEDURE later_procedure () SELECT 2; "+
		"CREATE EVENT later_event ON SCHEDULE EVERY 1 YEAR DO SELECT 3; DELETE FROM orders")
	replaced := monday
	replaced.Overwrite = true
	m.load(t, replaced, 0, "monday.sql.gz is loaded")
	m.expect(t, everythingOfMySQL, allOfMySQL)

	m.empty(t)
	m.load(t, monday, 0, "monday.sql.gz is loaded")
	m.expect(t, everythingOfMySQL, allOfMySQL)
}

// TestMySQLLoadInterrupted checks that an interrupted load starts again, and that no other dump may be loaded
// instead.
func TestMySQLLoadInterrupted(t *testing.T) {
	m := newMySQL(t)
	m.sql(t, "CREATE TABLE tuesday (id INT)")
	tuesday := m.mysqlDump(t, "tuesday.sql.gz")
	m.empty(t)
	m.sql(t, mySQLShop)
	monday := m.mysqlDump(t, "monday.sql.gz")
	m.empty(t)

	// The dump breaks off after some tables.
	gzip := filepath.Join(m.dir, "bin")
	m.folder(t, "bin")
	if err := os.WriteFile(filepath.Join(gzip, "gzip"), []byte("#!/bin/sh\n"+`/bin/gzip "$@" | sed '/CREATE TABLE .orders/,$d'; exit 1`+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := m.env["PATH"]
	m.env["PATH"] = gzip + ":" + path
	m.load(t, monday, 1, "the dump could not be read")
	m.env["PATH"] = path
	m.expect(t, "SELECT COUNT(*) FROM customers", "2")

	m.load(t, tuesday, ExitNotEmpty, "the database is not empty: it has a part of another dump")
	m.load(t, monday, 0, "an earlier load of monday.sql.gz was interrupted: it begins anew")
	m.expect(t, everythingOfMySQL, allOfMySQL)

	// It is over, and does not count as interrupted.
	m.load(t, monday, ExitNotEmpty, "the database is not empty")

	// With leave to replace, anything may be there.
	m.sql(t, "CREATE TABLE "+database.LoadingTable+" (id INT) COMMENT = 'another'")
	tuesday.Overwrite = true
	m.load(t, tuesday, 0, "tuesday.sql.gz is loaded")
	m.expect(t, "SHOW TABLES", "tuesday")
}

// TestMySQLLoadDefiners checks that objects of another definer are loaded as the application's own: only an
// administrator may create them for another user. Data that looks like it stays as it is.
func TestMySQLLoadDefiners(t *testing.T) {
	m := newMySQL(t)
	root := "MYSQL_PWD= mysql --protocol=socket --socket=" + m.dir + "/run/socket --user=root --database=shop_db --execute="
	m.sql(t, mySQLShop)
	m.sql(t, "INSERT INTO customers VALUES (3, 'CREATE DEFINER=`a`@`b` x\n/*!50013 DEFINER=`a`@`b` */')")
	for _, sql := range []string{
		"CREATE VIEW roots AS SELECT id FROM orders", "CREATE TRIGGER roots BEFORE UPDATE ON orders FOR EACH ROW SET @x = 1",
		"CREATE EVENT roots ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
	} {
		m.must(t, root+"'"+sql+"'")
	}
	const names = "SELECT name FROM customers WHERE id = 3"
	before := m.sql(t, names)
	monday := m.mysqlDump(t, "monday.sql.gz")
	m.empty(t)
	m.load(t, monday, 0, "monday.sql.gz is loaded")
	m.expect(t, "SELECT COUNT(*) FROM roots", "2")
	m.expect(t, "SELECT GROUP_CONCAT(DISTINCT DEFINER) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()", `sh"op@%`)
	m.expect(t, "SELECT (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()), "+
		"(SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()), "+
		"(SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE())", "2\t2\t2")
	if after := m.sql(t, names); after != before {
		t.Errorf("data became %q, want %q", after, before)
	}
}

// TestMySQLLoadRefused checks that the job reports a server that denies access, and does
// not wait for it.
func TestMySQLLoadRefused(t *testing.T) {
	m := newMySQL(t)
	m.sql(t, mySQLShop)
	monday := m.mysqlDump(t, "monday.sql.gz")
	m.env["MYSQL_PWD"] = "another"
	m.load(t, monday, 1, "Access denied")
}

// empty makes the database anew.
func (m *machine) empty(t *testing.T) {
	t.Helper()
	m.sql(t, "DROP DATABASE shop_db; CREATE DATABASE shop_db")
}
