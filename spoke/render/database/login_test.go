package database

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// change runs a change of a login in the pod.
func (p *pod) change(t *testing.T, c ChangeLogin) error {
	t.Helper()
	command, input, err := c.Command(p.spec.Engine)
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(command, " "); c.Password != "" && strings.Contains(args, c.Password) {
		t.Error("the password is on the command line")
	}
	cmd := p.command(t, p.local(command[2]))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	t.Logf("%s: %v %s", c.Username, err, out)
	return err
}

// prepareFor runs the script that prepares data, in a pod that was started with a login.
func (p *pod) prepareFor(t *testing.T, l Login) {
	t.Helper()
	p.spec.Rotated = true
	p.env["LOGIN_USER"], p.env["LOGIN_OTHER"], p.env["APP_PASSWORD"] = l.Username, l.Other(p.spec.Engine), l.Password
	p.env["LOGIN_PHASE"], p.env["LOGIN_ROTATION"] = string(l.Phase), strconv.Itoa(l.Rotation)
	p.must(t, "sh "+p.etc+"/prepare.sh")
}

// TestPostgreSQLLogin rotates the password of a running server.
func TestPostgreSQLLogin(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	p := newPod(t, spec, "shop-database-0")
	owner := p.env["APP_USER"]
	second := SecondLogin(owner)
	p.prepareFor(t, Login{Owner: owner, Username: owner, Password: awkward})
	p.serve(t)

	secret, err := spec.LoginSecret(Login{Owner: owner, Username: owner, Password: awkward, Database: p.env["APP_DATABASE"]})
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Replace(string(secret.Data[URLKey]), fmt.Sprintf("@%s:%d/", spec.Host(), spec.Port()), "@127.0.0.1:"+p.port+"/", 1)
	if out, err := p.run(t, "psql --no-psqlrc --no-password --quiet --tuples-only --no-align --command='SELECT current_database()' '"+at+"'"); err != nil || strings.TrimSpace(out) != p.env["APP_DATABASE"] {
		t.Errorf("by its URL the database is %q: %v", out, err)
	}

	const next, third = `n'e"x\t $1`, "third"
	if _, err := p.as(t, owner, awkward, "CREATE TABLE orders (id int)"); err != nil {
		t.Fatal("the owner cannot create a table")
	}
	for range 2 { // It can be repeated.
		if err := p.change(t, ChangeLogin{Owner: owner, Username: second, Password: next, Change: Keep}); err != nil {
			t.Fatal(err)
		}
	}
	p.expectLogins(t, "while clients switch", map[[2]string]bool{{owner, awkward}: true, {second, next}: true, {second, awkward}: false, {owner, next}: false})

	// Both own what either has created.
	for _, sql := range []string{"ALTER TABLE orders ADD COLUMN price int", "CREATE TABLE later (id int)"} {
		if out, err := p.as(t, second, next, sql); err != nil {
			t.Errorf("%s as the second login: %s", sql, out)
		}
	}
	if out, err := p.as(t, owner, awkward, "DROP TABLE later; SELECT tableowner FROM pg_tables WHERE tablename = 'orders'"); err != nil || out != owner {
		t.Errorf("the owner of the tables is %q: %v", out, err)
	}

	if err := p.change(t, ChangeLogin{Owner: owner, Username: owner, Password: next, Change: Discard}); err != nil {
		t.Fatal(err)
	}
	p.expectLogins(t, "after the rotation", map[[2]string]bool{{owner, awkward}: false, {owner, next}: true, {second, next}: true})
	if err := p.change(t, ChangeLogin{Owner: owner, Username: owner, Password: third, Change: Keep}); err != nil {
		t.Fatal(err)
	}
	p.expectLogins(t, "in the next rotation", map[[2]string]bool{{owner, third}: true, {second, next}: true})
	p.stop(t)

}

// TestPostgreSQLRestoredLogin starts pods on data with the passwords of another time, as that of a
// backup: its note of them is as old.
func TestPostgreSQLRestoredLogin(t *testing.T) {
	usePostgreSQL(t)
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
	owner := p.env["APP_USER"]
	second := SecondLogin(owner)
	p.prepareFor(t, Login{Owner: owner, Username: owner, Password: awkward})
	p.prepareFor(t, Login{Owner: owner, Username: second, Password: "later", Phase: PhaseSwitching, Rotation: 1})
	p.serve(t)
	p.expectLogins(t, "while clients switch", map[[2]string]bool{{owner, awkward}: true, {second, "later"}: true, {second, awkward}: false})
	p.stop(t)
	settled := Login{Owner: owner, Username: second, Password: "later", Rotation: 1}
	p.prepareFor(t, settled)
	p.serve(t)
	p.expectLogins(t, "after the rotation", map[[2]string]bool{{owner, awkward}: false, {owner, "later"}: true, {second, "later"}: true})
	p.stop(t)
	note := filepath.Join(p.dir, "pgdata.logins")
	noted, err := os.Stat(note)
	if err != nil {
		t.Fatal(err)
	}
	p.prepareFor(t, settled)
	if again, err := os.Stat(note); err != nil || !again.ModTime().Equal(noted.ModTime()) {
		t.Errorf("a pod whose logins are set starts a server for them again: %v", err)
	}
	// A backup may be of a rotation in between that changed the password back and forth.
	another := Login{Owner: owner, Username: second, Password: "later", Rotation: 3}
	p.prepareFor(t, another)
	if again, err := os.Stat(note); err != nil || again.ModTime().Equal(noted.ModTime()) {
		t.Errorf("the same password of another rotation is taken for the one in the data: %v", err)
	}
	before, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	p.env["LOGIN_SALT"] = "of another Secret"
	p.prepareFor(t, another)
	if after, err := os.ReadFile(note); err != nil || string(after) == string(before) {
		t.Errorf("data whose note has another salt is taken for prepared: %v", err)
	}
	// Replicas copy data with a password that is in it as well.
	p.env["REPLICATION_PASSWORD"] = "of another cluster"
	p.prepareFor(t, settled)
	p.serve(t)
	if out, err := p.run(t, `PGPASSWORD=$REPLICATION_PASSWORD psql --no-psqlrc --no-password --quiet "host=127.0.0.1 port=`+p.port+` user=replication replication=true" --command=IDENTIFY_SYSTEM`); err != nil {
		t.Errorf("replicas cannot copy the data: %s", out)
	}
}

// TestPostgreSQLSettings checks that the second login has the settings and limits of the owner, as they
// are at each rotation, and keeps its own role.
func TestPostgreSQLSettings(t *testing.T) {
	usePostgreSQL(t)
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
	owner := p.env["APP_USER"]
	second := SecondLogin(owner)
	p.prepareFor(t, Login{Owner: owner, Username: owner, Password: awkward})
	p.serve(t)
	administer := func(sql string) {
		t.Helper()
		if out, err := p.run(t, "psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host="+filepath.Join(p.dir, "run")+` --username=postgres --dbname="$APP_DATABASE" <<'SQL'`+"\n"+sql+"\nSQL\n"); err != nil {
			t.Fatal(out)
		}
	}
	role := `"sh""op"`
	administer("ALTER ROLE " + role + " SET statement_timeout = '7s'; ALTER ROLE " + role + " SET search_path = ''; ALTER ROLE " + role +
		" IN DATABASE shop_db SET work_mem = '9MB'; ALTER ROLE " + role + " CONNECTION LIMIT 17 VALID UNTIL '2100-01-02';")
	rotate := func(password string) {
		t.Helper()
		if err := p.change(t, ChangeLogin{Owner: owner, Username: second, Password: password, Change: Keep}); err != nil {
			t.Fatal(err)
		}
	}
	const shown = `SELECT concat_ws(' ', session_user, current_user, current_setting('statement_timeout'), current_setting('search_path'), current_setting('work_mem'),
  (SELECT concat_ws(' ', rolconnlimit, rolvaliduntil::date) FROM pg_catalog.pg_roles WHERE rolname = session_user))`
	expect := func(want string) {
		t.Helper()
		if got, err := p.as(t, second, "next", shown); err != nil || got != want {
			t.Errorf("the settings of the second login are %q, want %q: %v", got, want, err)
		}
	}
	rotate("next")
	expect(second + " " + owner + ` 7s "" 9MB 17 2100-01-02`)
	administer("ALTER ROLE " + role + " RESET ALL; ALTER ROLE " + role + " IN DATABASE shop_db RESET ALL; ALTER ROLE " + role + " CONNECTION LIMIT -1 VALID UNTIL 'infinity';")
	rotate("next")
	expect(second + " " + owner + ` 0 "$user", public 4MB -1 infinity`)
	p.stop(t)
}

// TestLoginNote checks that a note is valid for the login and the salt that it was written with. Likely passwords
// cannot be compared with it, because applications with one password have different notes.
func TestLoginNote(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	run := func(script string, changes ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "set -eu\n"+loginNote+script, "sh", data)
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "LOGIN_SALT=salt", "LOGIN_ROTATION=1", "LOGIN_PHASE=", "APP_USER=shop", "LOGIN_USER=shop", "APP_PASSWORD=secret", "REPLICATION_PASSWORD=r",
		}, changes...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(`note "$1"`); err != nil {
		t.Fatal(out)
	}
	for _, tt := range []struct {
		change string
		noted  bool
	}{
		{"LOGIN_SALT=salt", true}, {"LOGIN_USER=", true}, // Without a login there is none to set.
		{"LOGIN_SALT=other", false}, {"LOGIN_SALT=", false}, {"APP_PASSWORD=other", false}, {"LOGIN_USER=shop_2", false}, {"APP_USER=other", false},
		{"LOGIN_ROTATION=2", false}, {"LOGIN_PHASE=changing", false}, {"REPLICATION_PASSWORD=other", false},
	} {
		if out, err := run(`noted "$1"`, tt.change); (err == nil) != tt.noted {
			t.Errorf("%s: noted: %t, want %t: %s", tt.change, err == nil, tt.noted, out)
		}
	}
	note := func(salt string) string {
		out, err := run(`note "$1" && cat "$1.logins"`, "LOGIN_SALT="+salt)
		if err != nil || out == "" || strings.Contains(out, "secret") {
			t.Errorf("the note is %q: %v", out, err)
		}
		return out
	}
	if one, again, other := note("one"), note("one"), note("other"); one != again || one == other {
		t.Errorf("notes %q and %q of one salt, and %q of another", one, again, other)
	}
}

// as runs SQL through the network, where passwords count.
func (p *pod) as(t *testing.T, user, password, sql string) (string, error) {
	t.Helper()
	cmd := p.command(t, `psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --host=127.0.0.1 --port="$PGPORT" --command="$SQL"`)
	cmd.Env = append(cmd.Env, "PGUSER="+user, "PGPASSWORD="+password, "PGDATABASE="+p.env["APP_DATABASE"], "SQL="+sql)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// expectLogins compares which users are accepted with which passwords.
func (p *pod) expectLogins(t *testing.T, when string, logins map[[2]string]bool) {
	t.Helper()
	for login, want := range logins {
		if _, err := p.as(t, login[0], login[1], "SELECT 1"); (err == nil) != want {
			t.Errorf("%s: %s is accepted with %q: %v, want %v", when, login[0], login[1], err == nil, want)
		}
	}
}

// TestPostgreSQLLoginFails takes no password that the server does not accept.
func TestPostgreSQLLoginFails(t *testing.T) {
	usePostgreSQL(t)
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
	if err := p.change(t, ChangeLogin{Owner: "shop", Username: "shop_2", Password: "unaccepted"}); err == nil {
		t.Error("the change succeeded without a server")
	}
}

func TestSecondLogin(t *testing.T) {
	for owner, want := range map[string]string{
		"shop":                         "shop_2",
		strings.Repeat("a", 63):        strings.Repeat("a", 61) + "_2",
		strings.Repeat("a", 60) + "ää": strings.Repeat("a", 60) + "_2",
	} {
		if got := SecondLogin(owner); got != want {
			t.Errorf("%s: %s, want %s", owner, got, want)
		}
	}
}

// mySQLStandIn stands for the client program of MySQL, which this machine may lack: it notes the changes
// that it is asked for, and keeps the primary and the secondary password of one user in files.
const mySQLStandIn = `#!/bin/sh
cd "$STAND_IN"
case "$*" in
  *--protocol=tcp*) [ "$MYSQL_PWD" = "$(cat primary)" ] || [ "$MYSQL_PWD" = "$(cat secondary)" ]; exit ;;
esac
while IFS= read -r line; do
  case $line in
    *VERSION*) echo "$SERVER" ;;
    *additional_password*) if [ -s secondary ]; then echo 1; else echo 0; fi ;;
    ALTER*)
      echo "$line" >>notes
      case $line in
        *RETAIN*) cp primary secondary ;;
        *DISCARD*) : >secondary; continue ;;
      esac
      line=${line#*"BY '"}
      printf '%s' "${line%%"'"*}" >primary ;;
  esac
done
`

// mySQLUserStandIn returns a pod whose MySQL has a user with passwords.
func mySQLUserStandIn(t *testing.T, server, primary, secondary string) *pod {
	t.Helper()
	p := newPod(t, testSpec(v1.EngineMySQL, "8.4"), "shop-database-0")
	dir := filepath.Join(p.dir, "tmp")
	writeFile(t, filepath.Join(dir, "mysql"), mySQLStandIn, 0o755)
	for file, content := range map[string]string{"primary": primary, "secondary": secondary, "notes": ""} {
		writeFile(t, filepath.Join(dir, file), content, 0o666)
		if err := os.Chmod(filepath.Join(dir, file), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p.env["PATH"] = dir + ":" + p.env["PATH"]
	p.env["STAND_IN"], p.env["SERVER"] = dir, server
	return p
}

// TestMySQLLogin compares the statements and the passwords that are valid after them: there is no MySQL
// on the machines that run the tests, and MariaDB has no second password.
func TestMySQLLogin(t *testing.T) {
	const mysql, mariadb = "8.4.3", "10.11.6-MariaDB"
	alter := func(password string) string { return "ALTER USER 'shop'@'%' IDENTIFIED BY '" + password + "'" }
	const retain, discard = " RETAIN CURRENT PASSWORD;", "ALTER USER 'shop'@'%' DISCARD OLD PASSWORD;"
	for name, tt := range map[string]struct {
		server, primary, secondary string
		change                     ChangeLogin
		want                       []string
		valid                      [2]string
		fails                      bool
	}{
		"keep":                             {mysql, "old-one", "", ChangeLogin{Change: Keep, Password: "new-one", Current: "old-one"}, []string{alter("new-one") + retain}, [2]string{"new-one", "old-one"}, false},
		"keep, repeated":                   {mysql, "new-one", "old-one", ChangeLogin{Change: Keep, Password: "new-one", Current: "old-one"}, nil, [2]string{"new-one", "old-one"}, false},
		"keep, after an interrupted other": {mysql, "between-one", "old-one", ChangeLogin{Change: Keep, Password: "new-one", Current: "old-one"}, []string{alter("new-one") + ";"}, [2]string{"new-one", "old-one"}, false},
		"keep, with a left-over":           {mysql, "old-one", "older-one", ChangeLogin{Change: Keep, Password: "new-one", Current: "old-one"}, []string{alter("new-one") + ";", alter("old-one") + ";", alter("new-one") + retain}, [2]string{"new-one", "old-one"}, false},
		"keep, current unknown":            {mysql, "between-one", "old-one", ChangeLogin{Change: Keep, Password: "new-one"}, []string{alter("new-one") + ";"}, [2]string{"new-one", "old-one"}, false},
		"discard":                          {mysql, "new-one", "old-one", ChangeLogin{Change: Discard, Password: "new-one"}, []string{alter("new-one") + ";", discard}, [2]string{"new-one", ""}, false},
		"discard, after it was taken back": {mysql, "new-one", "old-one", ChangeLogin{Change: Discard, Password: "old-one"}, []string{alter("old-one") + ";", discard}, [2]string{"old-one", ""}, false},
		"only":                             {mysql, "between-one", "old-one", ChangeLogin{Change: Only, Password: "old-one"}, []string{alter("old-one") + ";", discard}, [2]string{"old-one", ""}, false},
		"mariadb, keep":                    {mariadb, "old-one", "", ChangeLogin{Change: Keep, Password: "new-one"}, nil, [2]string{"old-one", ""}, true},
		"mariadb, only":                    {mariadb, "old-one", "", ChangeLogin{Change: Only, Password: "new-one"}, []string{alter("new-one") + ";"}, [2]string{"new-one", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := mySQLUserStandIn(t, tt.server, tt.primary, tt.secondary)
			tt.change.Owner, tt.change.Username, tt.change.Administrator = "shop", "shop", "r"
			if err := p.change(t, tt.change); (err != nil) != tt.fails {
				t.Fatal(err)
			}
			read := func(file string) string {
				content, err := os.ReadFile(filepath.Join(p.env["STAND_IN"], file))
				if err != nil {
					t.Fatal(err)
				}
				return string(content)
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), strings.TrimSpace(read("notes"))); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
			if got := [2]string{read("primary"), read("secondary")}; got != tt.valid {
				t.Errorf("valid are %q, want %q", got, tt.valid)
			}
		})
	}
}

// TestMySQLRestoredLogin starts pods on data with the password of another time, as that of a backup.
func TestMySQLRestoredLogin(t *testing.T) {
	p := newMySQLPod(t, "shop-database-0")
	owner := p.env["APP_USER"]
	p.prepareFor(t, Login{Owner: owner, Username: owner, Password: awkward})
	changes := func() []string {
		var altered []string
		for line := range strings.Lines(p.must(t, "cat "+p.dir+"/sql; : >"+p.dir+"/sql")) {
			if strings.HasPrefix(line, "ALTER USER 'sh") {
				altered = append(altered, strings.TrimSpace(line))
			}
		}
		return altered
	}
	changes()
	later := Login{Owner: owner, Username: owner, Password: "later", Phase: PhaseSwitching, Rotation: 1}
	set, discard := `ALTER USER 'sh"op'@'%' IDENTIFIED BY 'later';`, `ALTER USER 'sh"op'@'%' DISCARD OLD PASSWORD;`
	for _, step := range []struct {
		when  string
		phase Phase
		want  []string
	}{
		{"while clients switch", PhaseSwitching, []string{set}},
		{"after the rotation", PhaseSettled, []string{set, discard}},
		{"a second time", PhaseSettled, nil},
	} {
		later.Phase = step.phase
		p.prepareFor(t, later)
		if diff := cmp.Diff(step.want, changes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.when, diff)
		}
	}
	replica := newMySQLPod(t, "shop-database-1")
	mustMkdir(t, filepath.Join(replica.dir, "mysql", "data", "mysql"))
	replica.prepareFor(t, later)
	if _, err := os.Stat(filepath.Join(replica.dir, "sql")); err == nil {
		t.Error("a replica set a login, which comes from its primary")
	}
}
