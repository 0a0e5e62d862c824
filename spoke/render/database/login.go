package database

import (
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

// Further keys of the login Secret.
const (
	// PhaseKey is PhaseSwitching while clients switch to the login, otherwise empty.
	PhaseKey       = "phase"
	PhaseSwitching = "switching"
	// OtherKey is the login that is not in use; the same one for MySQL.
	OtherKey = "other"
)

// Annotations of the login Secret.
const (
	// OwnerAnnotation is the user of the credentials Secret when the login was created.
	OwnerAnnotation = "ecommerce.io/database-owner"
	// RotationAnnotation counts the changes of the login. Pod templates of clients have it too.
	RotationAnnotation = "ecommerce.io/login-rotation"
)

// Login represents the login of the clients.
type Login struct {
	// Owner is the user of the credentials Secret, who owns the database. Username is the
	// owner or, with PostgreSQL, the second login that acts for it: see SecondLogin.
	Owner, Username, Password, Database string
	// Switching is true while clients may still use the login before this one.
	Switching bool
	// Rotation counts the changes of the login.
	Rotation int
}

// SecondLogin returns the name of the role that takes turns with the owner, so that an old and
// a new password are valid at the same time: PostgreSQL has one for each role. Names have at
// most 63 bytes.
func SecondLogin(owner string) string {
	const suffix = "_2"
	return strings.ToValidUTF8(owner[:min(len(owner), 63-len(suffix))], "") + suffix
}

// Other returns the role that takes turns with that of the login: with MySQL, which has one user,
// the same.
func (l Login) Other(engine v1.Engine) string {
	if engine == v1.EnginePostgreSQL && l.Username == l.Owner {
		return SecondLogin(l.Owner)
	}
	return l.Owner
}

// Administrator returns the name and the key of the password of MySQL's administrator.
func (s Spec) Administrator() (secret, key string) {
	return renderer{Spec: s}.systemSecretName(), rootKey
}

// LoginSecretName returns the name of the Secret with the login that clients use. The hub or the
// agent writes it.
func (s Spec) LoginSecretName() string { return s.name("-login", manifest.MaxName) }

// LoginSecret returns the Secret with a login.
func (s Spec) LoginSecret(l Login) (*corev1.Secret, error) {
	e, err := s.engine()
	if err != nil {
		return nil, err
	}
	data := map[string]string{UsernameKey: l.Username, PasswordKey: l.Password, DatabaseKey: l.Database, PhaseKey: "", OtherKey: l.Other(s.Engine)}
	if l.Switching {
		data[PhaseKey] = PhaseSwitching
	}
	secret := manifest.Secret(s.renderer(e).part, s.LoginSecretName(), data)
	secret.Annotations = map[string]string{OwnerAnnotation: l.Owner, RotationAnnotation: fmt.Sprint(l.Rotation)}
	return secret, nil
}

// ChangeLogin is a change of a login in a running database.
type ChangeLogin struct {
	Owner, Username, Password string
	// Keep keeps the password that the user had before valid as well, and Discard ends that.
	// PostgreSQL needs neither, because it has two roles.
	Keep, Discard bool
	// Administrator is the password of the administrator; PostgreSQL needs none.
	Administrator string
}

// Command returns the command that makes the change in the container of the primary, and its
// standard input, which has the passwords. It can be repeated. It fails unless the new password
// was accepted by the server.
func (c ChangeLogin) Command(engine v1.Engine) (command []string, input string, err error) {
	lines := []string{c.Owner, c.Username, c.Password}
	script := ""
	switch engine {
	case v1.EnginePostgreSQL:
		script = readFields + quoteFunction + postgreSQLLogin + postgreSQLChangeLogin
	case v1.EngineMySQL:
		script = readFields + quoteFunction + mySQLChangeLogin
		lines = append(lines, c.Administrator, map[bool]string{true: "keep"}[c.Keep], map[bool]string{true: "discard"}[c.Discard])
	default:
		return nil, "", fmt.Errorf("engine %q: give postgresql or mysql", engine)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(base64.StdEncoding.EncodeToString([]byte(line)) + "\n")
	}
	return []string{"sh", "-c", script}, b.String(), nil
}

const (
	readFields = `set -eu
# field decodes a line of the input from base64. Names and passwords of users are neither on a
# command line nor interpreted by a shell.
field() { IFS= read -r line && printf '%s' "$line" | base64 -d; }
`

	quoteFunction = `
# quote puts $2 between two of the quotation mark $1.
quote() {
  printf '%s%s%s' "$1" "$(printf '%s' "$2" | sed "s/$1/$1$1/g")" "$1"
}
`

	// postgreSQLLogin gives sessions of the second role the rights and the name of the owner, so
	// that both own what either creates.
	postgreSQLLogin = `
# login_sql prints the SQL that gives the role $2, which acts for the owner $1, the password $3.
login_sql() {
  role=$(quote '"' "$2")
  # What fails is not logged: it has a password in it.
  echo "SET log_min_error_statement = panic; SET log_statement = none; SET password_encryption = 'scram-sha-256';"
  if [ "$1" != "$2" ]; then
    printf 'SELECT %s WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = %s) \\gexec\n' \
      "$(quote "'" "CREATE ROLE $role")" "$(quote "'" "$2")"
    printf 'GRANT %s TO %s;\nALTER ROLE %s SET role TO %s;\n' "$(quote '"' "$1")" "$role" "$role" "$(quote "'" "$1")"
  fi
  printf 'ALTER ROLE %s LOGIN PASSWORD %s;\n' "$role" "$(quote "'" "$3")"
}
`

	postgreSQLChangeLogin = `
owner=$(field) login=$(field) password=$(field)
login_sql "$owner" "$login" "$password" |
  psql --no-psqlrc --no-password --quiet --set=ON_ERROR_STOP=1 --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres
# Through the network, where the password counts.
PGPASSWORD=$password psql --no-psqlrc --no-password --quiet --tuples-only --host=127.0.0.1 --port=5432 --username="$login" --dbname="$APP_DATABASE" \
  --command='SELECT 1' >/dev/null
`

	mySQLChangeLogin = `
owner=$(field) login=$(field) password=$(field) administrator=$(field) keep=$(field) discard=$(field)
# run runs SQL as the administrator. Backslashes are what they look like.
run() {
  { echo "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');" && cat; } |
    MYSQL_PWD=$administrator mysql --protocol=socket --socket=/var/run/mysqld/mysqld.sock --user=root --batch --skip-column-names
}
case $(echo 'SELECT VERSION();' | run) in
  *MariaDB*)
    echo "MariaDB has one password for each user: it cannot be rotated without an outage" >&2
    exit 1 ;;
esac
user="$(quote "'" "$login")@'%'"
# accepted reports whether the server accepts the new password.
accepted() {
  MYSQL_PWD=$password mysql --protocol=tcp --host=127.0.0.1 --port=3306 --connect-timeout=4 --user="$login" --batch --execute='SELECT 1' >/dev/null 2>&1
}
if [ -n "$discard" ]; then
  echo "ALTER USER $user DISCARD OLD PASSWORD;" | run
elif ! accepted; then
  # Repeated, it would make the new password the old one.
  echo "ALTER USER $user IDENTIFIED BY $(quote "'" "$password")${keep:+ RETAIN CURRENT PASSWORD};" | run
fi
accepted
`
)
