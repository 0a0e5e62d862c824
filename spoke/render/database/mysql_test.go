package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMySQLPrepare runs the rendered script with programs that stand for MySQL's:
// they keep what they are told.
func TestMySQLPrepare(t *testing.T) {
	primary := newMySQLPod(t, "shop-database-0")
	primary.must(t, "mkdir -p "+primary.dir+"/mysql/new/half")
	primary.must(t, "sh "+primary.etc+"/prepare.sh")
	sql := primary.must(t, "cat "+primary.dir+"/sql")
	for _, want := range []string{
		"CREATE DATABASE `shop_db`;",
		`CREATE USER 'sh"op'@'%' IDENTIFIED BY 'p''a"s\s $w&d/';`,
		"GRANT ALL ON `shop\\_db`.* TO 'sh\"op'@'%';",
		"CREATE USER replication@'%' IDENTIFIED BY 'secret';",
		"ALTER USER root@localhost IDENTIFIED BY 'top''secret';",
	} {
		if !strings.Contains(sql, want) {
			t.Errorf("the primary's SQL lacks %s:\n%s", want, sql)
		}
	}
	if got := primary.must(t, "cd "+primary.dir+"/mysql && find . | sort"); got != ".\n./data\n./data/mysql\n" {
		t.Errorf("files:\n%s", got)
	}
	// Nothing is left to do.
	primary.must(t, "rm "+primary.dir+"/sql && sh "+primary.etc+"/prepare.sh")
	if _, err := os.Stat(filepath.Join(primary.dir, "sql")); err == nil {
		t.Error("a second run changed the database")
	}

	if _, err := os.Stat(filepath.Join(primary.dir, "asked")); err == nil {
		t.Error("the primary waited for a primary")
	}

	// All pods are started at once: a replica waits until there is something to copy.
	replica := newMySQLPod(t, "shop-database-1")
	replica.must(t, "sh "+replica.etc+"/prepare.sh")
	if got := replica.must(t, "cat "+replica.dir+"/asked"); got != strings.Repeat("asked\n", 3) {
		t.Errorf("the replica asked for the primary, late if it had run SQL before:\n%s", got)
	}
	sql = replica.must(t, "cat "+replica.dir+"/sql")
	clone, change := strings.Index(sql, "CLONE INSTANCE FROM replication@'127.0.0.1':3306"), strings.Index(sql, "SOURCE_AUTO_POSITION = 1")
	if clone < 0 || change < clone || strings.Contains(sql, "CREATE USER") {
		t.Errorf("the replica's SQL:\n%s", sql)
	}
}

// TestMySQLPrepareFails checks that a failed step is repeated from the beginning, and leaves nothing that looks like
// a database.
func TestMySQLPrepareFails(t *testing.T) {
	p := newMySQLPod(t, "shop-database-0")
	p.env["FAIL"] = "CREATE DATABASE"
	// The end of a container ends its server; here it must not hold the output.
	if _, err := p.run(t, "sh "+p.etc+"/prepare.sh >/dev/null 2>&1"); err == nil {
		t.Fatal("the script succeeded")
	}
	if _, err := os.Stat(filepath.Join(p.dir, "mysql", "data")); err == nil {
		t.Error("there is a data directory")
	}
	delete(p.env, "FAIL")
	p.must(t, "rm "+p.dir+"/server && sh "+p.etc+"/prepare.sh")
}

// TestMySQLServe checks that replicas are read-only.
func TestMySQLServe(t *testing.T) {
	for name, want := range map[string]string{
		"shop-database-0": "--server-id=1", "shop-database-2": "--server-id=3 --super-read-only=ON",
	} {
		p := newMySQLPod(t, name)
		p.env["JUST_TELL"] = "yes"
		if out := p.must(t, "sh "+p.etc+"/serve.sh"); !strings.HasSuffix(strings.TrimSpace(out), "server.cnf "+want) {
			t.Errorf("%s runs mysqld %s, want %s", name, out, want)
		}
	}
}

// newMySQLPod returns a pod in which MySQL's programs are stand-ins.
func newMySQLPod(t *testing.T, name string) *pod {
	t.Helper()
	spec := testSpec(v1.EngineMySQL, "8.4")
	p := newPod(t, spec, name)
	bin := filepath.Join(p.dir, "bin")
	mustMkdir(t, bin)
	for program, script := range map[string]string{
		"mysqld": `if [ -n "${JUST_TELL:-}" ]; then echo "$@"; exit; fi
case "$*" in
*--initialize-insecure*) for a; do case $a in --datadir=*) mkdir -p "${a#*=}/mysql";; esac; done; exit;;
esac
echo $$ >"$DIR/server"
while [ -e "$DIR/server" ]; do sleep 0.05; done`,
		"mysqladmin": `case "$*" in
*--protocol=tcp*--host=127.0.0.1*ping*)
  # The primary answers at the third time; what was run before that is told.
  if [ -e "$DIR/sql" ]; then echo late; fi >>"$DIR/asked"
  echo asked >>"$DIR/asked"
  [ "$(wc -l <"$DIR/asked")" -ge 3 ];;
*ping*) [ -e "$DIR/server" ];;
*shutdown*) rm "$DIR/server";;
esac`,
		"mysql":               `cat >"$DIR/one"; cat "$DIR/one" >>"$DIR/sql"; ! grep -q "${FAIL:-no such text}" "$DIR/one"`,
		"sleep":               `command -p sleep 0.02`,
		"mysql_tzinfo_to_sql": `echo "INSERT INTO time_zone"`,
	} {
		writeFile(t, filepath.Join(bin, program), "#!/bin/sh\n"+script+"\n", 0o755)
	}
	p.env["DIR"], p.env["PATH"], p.env["ROOT_PASSWORD"] = p.dir, bin+":"+p.env["PATH"], "top'secret"
	return p
}
