package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestPostgreSQLLogin rotates the password of a running server.
func TestPostgreSQLLogin(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	p := newPod(t, spec, "shop-database-0")
	owner := p.env["APP_USER"]
	second := SecondLogin(owner)
	p.env["LOGIN_USER"], p.env["LOGIN_OTHER"], p.env["LOGIN_PASSWORD"], p.env["LOGIN_PHASE"] = owner, second, awkward, ""
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.serve(t)

	const next, third = `n'e"x\t $1`, "third"
	if _, err := p.as(t, owner, awkward, "CREATE TABLE orders (id int)"); err != nil {
		t.Fatal("the owner cannot create a table")
	}
	for range 2 { // It can be repeated.
		if err := p.change(t, ChangeLogin{Owner: owner, Username: second, Password: next, Keep: true}); err != nil {
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

	if err := p.change(t, ChangeLogin{Owner: owner, Username: owner, Password: next, Discard: true}); err != nil {
		t.Fatal(err)
	}
	p.expectLogins(t, "after the rotation", map[[2]string]bool{{owner, awkward}: false, {owner, next}: true, {second, next}: true})
	if err := p.change(t, ChangeLogin{Owner: owner, Username: owner, Password: third, Keep: true}); err != nil {
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
	prepare := func(login, other, password, phase string) {
		p.env["LOGIN_USER"], p.env["LOGIN_OTHER"], p.env["LOGIN_PASSWORD"], p.env["LOGIN_PHASE"] = login, other, password, phase
		p.must(t, "sh "+p.etc+"/prepare.sh")
	}
	prepare(owner, second, awkward, "")
	prepare(second, owner, "later", PhaseSwitching)
	p.serve(t)
	p.expectLogins(t, "while clients switch", map[[2]string]bool{{owner, awkward}: true, {second, "later"}: true, {second, awkward}: false})
	p.stop(t)
	prepare(second, owner, "later", "")
	p.serve(t)
	p.expectLogins(t, "after the rotation", map[[2]string]bool{{owner, awkward}: false, {owner, "later"}: true, {second, "later"}: true})
	p.stop(t)
	noted, err := os.Stat(filepath.Join(p.dir, "pgdata.logins"))
	if err != nil {
		t.Fatal(err)
	}
	prepare(second, owner, "later", "")
	if again, err := os.Stat(filepath.Join(p.dir, "pgdata.logins")); err != nil || !again.ModTime().Equal(noted.ModTime()) {
		t.Errorf("a pod whose logins are set starts a server for them again: %v", err)
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

// mySQLStandIn stands for the client program of MySQL, which this machine may lack: it notes what it
// is asked, and accepts a password once a statement has set it.
const mySQLStandIn = `#!/bin/sh
case "$*" in
  *--protocol=tcp*) grep -q "BY '$MYSQL_PWD'" "$NOTES" ;;
  *) tee -a "$NOTES" | grep -q VERSION && echo "$SERVER" || true ;;
esac
`

// TestMySQLLogin compares the statements: there is no MySQL on the machines that run the tests,
// and MariaDB has no second password.
func TestMySQLLogin(t *testing.T) {
	p := newPod(t, testSpec(v1.EngineMySQL, "8.4"), "shop-database-0")
	bin, notes := filepath.Join(p.dir, "tmp"), filepath.Join(p.dir, "tmp", "notes")
	writeFile(t, filepath.Join(bin, "mysql"), mySQLStandIn, 0o755)
	writeFile(t, notes, "", 0o666)
	if err := os.Chmod(notes, 0o666); err != nil {
		t.Fatal(err)
	}
	p.env["PATH"] = bin + ":" + p.env["PATH"]
	p.env["NOTES"], p.env["SERVER"] = notes, "8.4.3"
	for range 2 {
		if err := p.change(t, ChangeLogin{Owner: "shop", Username: "shop", Password: "new-one", Keep: true, Administrator: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.change(t, ChangeLogin{Owner: "shop", Username: "shop", Password: "new-one", Discard: true, Administrator: "r"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	var altered []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "ALTER") {
			altered = append(altered, strings.TrimSpace(line))
		}
	}
	want := "ALTER USER 'shop'@'%' IDENTIFIED BY 'new-one' RETAIN CURRENT PASSWORD; ALTER USER 'shop'@'%' DISCARD OLD PASSWORD;"
	if got := strings.Join(altered, " "); got != want {
		t.Errorf("the statements are\n%s\nwant\n%s", got, want)
	}
	p.env["SERVER"] = "10.11.6-MariaDB"
	if err := p.change(t, ChangeLogin{Owner: "shop", Username: "shop", Password: "newer", Keep: true, Administrator: "r"}); err == nil {
		t.Error("a server without second passwords was changed")
	}
}
