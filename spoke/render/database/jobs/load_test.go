package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// newPostgreSQL runs a server in which the application owns its database and is no
// administrator.
func newPostgreSQL(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, v1.EnginePostgreSQL, "postgres", "initdb", "psql", "pg_isready", "pg_dump", "pg_restore")
	data := filepath.Join(m.dir, "data")
	m.must(t, `initdb --pgdata="`+data+`" --username=postgres --encoding=UTF8 --auth=trust --no-sync`)
	m.serve(t, `postgres -D "`+data+`" -c fsync=off -c listen_addresses=127.0.0.1 -c port=`+m.port+` -c unix_socket_directories="`+m.dir+`"`, "pg_isready --quiet")
	m.admin(t, "postgres", `CREATE ROLE "sh""op" LOGIN PASSWORD 'x'`)
	m.admin(t, "postgres", `CREATE DATABASE "shop'd=b\" OWNER "sh""op"`)
	return m
}

func (m *machine) admin(t *testing.T, database, sql string) {
	t.Helper()
	m.env["SQL"], m.env["NAME"] = sql, database
	m.must(t, `PGDATABASE="$NAME" psql --no-psqlrc --quiet --host="`+m.dir+`" --username=postgres --set=ON_ERROR_STOP=1 --command="$SQL"`)
}

func (m *machine) pgDump(t *testing.T, name string) LoadSpec {
	t.Helper()
	m.must(t, "pg_dump --no-password --format=custom --file=backups/"+name)
	return m.dump(t, name)
}

const postgreSQLShop = `
CREATE EXTENSION pg_trgm;
CREATE TYPE progress AS ENUM ('open', 'paid');
CREATE TABLE orders (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state progress NOT NULL, note TEXT);
CREATE INDEX ON orders USING gin (note gin_trgm_ops);
CREATE VIEW paid AS SELECT * FROM orders WHERE state = 'paid';
CREATE FUNCTION one() RETURNS INT LANGUAGE sql AS 'SELECT 1';
CREATE SCHEMA "we""ird $x";
CREATE TABLE "we""ird $x"."t'1" (id INT);
INSERT INTO orders (state, note) SELECT 'paid', 'n' || i FROM generate_series(1, 1000) AS i;
COMMENT ON TABLE orders IS 'kept';
SELECT lo_from_bytea(0, 'large');`

const everythingOfPostgreSQL = `SELECT (SELECT count(*) FROM paid), one(), (SELECT count(*) FROM "we""ird $x"."t'1"),
	(SELECT count(*) FROM pg_largeobject_metadata), obj_description('orders'::regclass), (SELECT similarity('a', 'a'))`

// TestPostgreSQLLoad takes a database there and back on a real server, as a user that is no
// administrator.
func TestPostgreSQLLoad(t *testing.T) {
	m := newPostgreSQL(t)
	m.sql(t, postgreSQLShop)
	// Of an administrator, who has the right to comment on it.
	m.admin(t, m.env["PGDATABASE"], `CREATE EXTENSION citext; COMMENT ON EXTENSION citext IS 'ours'`)
	monday := m.pgDump(t, "monday.dump")
	m.expect(t, everythingOfPostgreSQL, "1000|1|0|1|kept|1")

	m.load(t, monday, ExitNotEmpty, "the database is not empty: it has 2 tables and ")
	m.expect(t, everythingOfPostgreSQL, "1000|1|0|1|kept|1")

	// What came later goes, and what stands in the way of what is dropped.
	m.sql(t, `CREATE TABLE later (id INT); CREATE VIEW in_the_way AS SELECT note FROM paid; DELETE FROM orders; CREATE SCHEMA later; CREATE TYPE later.later AS (a INT)`)
	replaced := monday
	replaced.Overwrite = true
	m.load(t, replaced, 0, "monday.dump is loaded")
	m.expect(t, everythingOfPostgreSQL, "1000|1|0|1|kept|1")
	m.expect(t, `SELECT to_regclass('later'), to_regclass('in_the_way'), to_regnamespace('later'), count(*) FROM pg_extension`, "|||3")
	m.sql(t, `INSERT INTO orders (state, note) VALUES ('open', 'x')`)

	// A database that holds no more than what administrators made counts as empty.
	m.sql(t, `DROP OWNED BY CURRENT_USER CASCADE`)
	m.load(t, monday, 0, "monday.dump is loaded")
	m.expect(t, everythingOfPostgreSQL, "1000|1|0|1|kept|1")
}

// TestPostgreSQLNotEmpty checks that each of these alone makes a database not empty.
func TestPostgreSQLNotEmpty(t *testing.T) {
	m := newPostgreSQL(t)
	dump := m.pgDump(t, "nothing.dump")
	for what, want := range map[string]string{
		`CREATE TABLE a (id INT)`:                      "1 tables and 0 other",
		`CREATE VIEW a AS SELECT 1 AS one`:             "0 tables and 1 other",
		`CREATE MATERIALIZED VIEW a AS SELECT 1 AS b`:  "0 tables and 1 other",
		`CREATE SEQUENCE a`:                            "0 tables and 1 other",
		`CREATE TYPE a AS ENUM ('x')`:                  "0 tables and 1 other",
		`CREATE TYPE a AS (x INT)`:                     "0 tables and 1 other",
		`CREATE DOMAIN a AS INT`:                       "0 tables and 1 other",
		`CREATE SCHEMA a`:                              "0 tables and 1 other",
		`SELECT lo_create(0)`:                          "0 tables and 1 other",
		`CREATE PROCEDURE a() LANGUAGE sql AS ''`:      "0 tables and 1 other",
		`CREATE SCHEMA a; CREATE TABLE a.a (id INT)`:   "1 tables and 1 other",
		`CREATE TABLE a (i INT) PARTITION BY LIST (i)`: "1 tables and 0 other",
	} {
		m.sql(t, what)
		m.load(t, dump, ExitNotEmpty, "the database is not empty: it has "+want)
		m.sql(t, `DROP OWNED BY CURRENT_USER CASCADE`)
	}
	m.load(t, dump, 0, "nothing.dump is loaded")
}

// TestPostgreSQLLoadFails checks that a failed load leaves the data as it was, also if it may be replaced.
func TestPostgreSQLLoadFails(t *testing.T) {
	m := newPostgreSQL(t)
	m.sql(t, `CREATE TABLE customers (id INT); INSERT INTO customers VALUES (1); CREATE TABLE orders (id INT); INSERT INTO orders VALUES (1)`)
	dump := m.pgDump(t, "monday.dump")
	// A table of another user, which the application's user cannot drop.
	m.sql(t, `DROP TABLE orders`)
	m.admin(t, m.env["PGDATABASE"], `CREATE TABLE orders (id INT)`)
	m.sql(t, `INSERT INTO customers VALUES (2)`)
	replaced := dump
	replaced.Overwrite = true
	m.load(t, replaced, 3, `relation "orders" already exists`)
	m.expect(t, `SELECT count(*) FROM customers`, "2")

	// The dump ends before its end: nothing of it is kept.
	m.admin(t, m.env["PGDATABASE"], `DROP TABLE orders`)
	content, err := os.ReadFile(filepath.Join(m.dir, "backups", "monday.dump"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "backups", "cut.dump"), content[:len(content)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	cut := m.dump(t, "cut.dump")
	cut.Overwrite = true
	m.load(t, cut, 1, "the dump could not be read")
	m.expect(t, `SELECT count(*) FROM customers`, "2")
	cut.Overwrite = false
	m.sql(t, `DROP OWNED BY CURRENT_USER`)
	m.load(t, cut, 1, "")
	m.expect(t, `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`, "0")
}

// TestWrongFile checks that a file that is not the dump is refused, without waiting for a server.
func TestWrongFile(t *testing.T) {
	for engine := range engines() {
		t.Run(string(engine), func(t *testing.T) {
			m := newMachine(t, engine)
			if err := os.WriteFile(filepath.Join(m.dir, "backups", "a.dump"), []byte("dump"), 0o644); err != nil {
				t.Fatal(err)
			}
			right := m.dump(t, "a.dump")
			wrong := right
			wrong.SHA256 = strings.Repeat("0", 64)
			m.load(t, wrong, ExitChecksum, "a.dump does not have the checksum of the dump\n")
			wrong = right
			wrong.Bytes++
			m.load(t, wrong, ExitChecksum, "a.dump has 4 bytes, and the dump has 5\n")
			wrong = right
			wrong.File = "b.dump"
			m.load(t, wrong, ExitMissing, "the dump is not there: b.dump\n")
		})
	}
}

// TestNoServer checks that a load waits for a database that does not respond, and then fails.
func TestNoServer(t *testing.T) {
	for engine, program := range map[v1.Engine]string{v1.EnginePostgreSQL: "pg_isready", v1.EngineMySQL: "mysqladmin"} {
		t.Run(string(engine), func(t *testing.T) {
			m := newMachine(t, engine, program)
			m.env["WAIT_SECONDS"] = "1"
			if err := os.WriteFile(filepath.Join(m.dir, "backups", "a.dump"), []byte("dump"), 0o644); err != nil {
				t.Fatal(err)
			}
			m.load(t, m.dump(t, "a.dump"), 1, "the database has not answered for 1 seconds\n")
		})
	}
}
