package database

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// Further keys of the login Secret.
const (
	// OwnerKey is the user of the credentials Secret when the login was created.
	OwnerKey = "owner"
	// OtherKey is the login that is not in use; the same one for MySQL.
	OtherKey = "other"
	// PhaseKey is the Phase, and RotationKey counts the changes of the login.
	PhaseKey    = "phase"
	RotationKey = "rotation"
	// URLKey is the address of the database with the login.
	URLKey = "url"
	// SaltKey is random. Volumes keep a hash of the login, which reveals nothing without it.
	SaltKey = "salt"
)

// RestoredSuffix is appended to the path of the data for a file that says that it was imported from a snapshot. The
// next start of the primary sets all passwords, and removes the file.
const RestoredSuffix = ".restored"

// RotationAnnotation of the pod templates of clients is the rotation that their pods have.
const RotationAnnotation = "ecommerce.io/login-rotation"

// Phase is the progress of a change of the login.
type Phase string

// The phases.
const (
	// PhaseSettled means that the password of the login is the only valid one.
	PhaseSettled Phase = ""
	// PhaseSetting means that the database may not have the login yet.
	PhaseSetting Phase = "setting"
	// PhaseChanging means that the database may have the next login already. Clients have this one.
	PhaseChanging Phase = "changing"
	// PhaseSwitching means that clients may still use the login before this one.
	PhaseSwitching Phase = "switching"
)

// Login represents the login of the clients.
type Login struct {
	// Owner is the user of the credentials Secret, who owns the database. Username is the
	// owner or, with PostgreSQL, the second login that acts for it: see SecondLogin.
	Owner, Username, Password, Database string
	Phase                               Phase
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

// Other returns the role that takes turns with the role of the login. MySQL has one user: with it, the
// role is the same.
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

// GeneratedCredentials returns the credentials Secret of a database whose user provides none. It is one
// of the component's objects as well: clients wait for a login, and that for the credentials.
func (s Spec) GeneratedCredentials() (component.Object, error) {
	e, err := s.engine()
	return s.renderer(e).generatedCredentials(), err
}

// LoginSecretName returns the name of the Secret with the login that clients use. The hub or the
// agent writes it.
func (s Spec) LoginSecretName() string { return s.name("-login", objectparts.MaxName) }

// LoginSecret returns the Secret with a login.
func (s Spec) LoginSecret(l Login) (*corev1.Secret, error) {
	e, err := s.engine()
	if err != nil {
		return nil, err
	}
	return objectparts.Secret(s.renderer(e).part, s.LoginSecretName(), map[string]string{
		OwnerKey: l.Owner, UsernameKey: l.Username, PasswordKey: l.Password, DatabaseKey: l.Database,
		OtherKey: l.Other(s.Engine), PhaseKey: string(l.Phase), RotationKey: strconv.Itoa(l.Rotation), URLKey: s.loginURL(l),
	}), nil
}

// loginURL returns the URL by which clients log in. All but unreserved characters is percent-encoded: parsers differ in
// what else they take literally.
func (s Spec) loginURL(l Login) string {
	encode := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	return fmt.Sprintf("%s://%s:%s@%s:%d/%s", s.Engine, encode(l.Username), encode(l.Password), s.Host(), s.Port(), encode(l.Database))
}

// Change says what becomes of other passwords of a user of MySQL; PostgreSQL has one for each role.
type Change string

// The changes.
const (
	// Keep keeps the password that clients have valid beside the new one.
	Keep Change = "keep"
	// Discard ends that: the new one stays.
	Discard Change = "discard"
	// Only makes one password the only one, whatever there was before.
	Only Change = "only"
)

// ChangeLogin is a change of a login in a running database.
type ChangeLogin struct {
	Change                    Change
	Owner, Username, Password string
	// Current is the password that clients have; empty if it is not known.
	Current string
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
		lines = append(lines, c.Administrator, string(c.Change), c.Current)
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
	// that both own what either creates, and its settings. Those are copied as they are in the
	// catalog: text that sets them again needs other quotation marks for each kind of setting.
	postgreSQLLogin = `
# login_sql prints the SQL that gives the role $2, which acts for the owner $1, the password $3.
login_sql() {
  role=$(quote '"' "$2") name=$(quote "'" "$2") owner=$(quote "'" "$1")
  # What fails is not logged: it has a password in it.
  echo "SET log_min_error_statement = panic; SET log_statement = none; SET password_encryption = 'scram-sha-256';"
  if [ "$1" != "$2" ]; then
    printf 'SELECT %s WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = %s) \\gexec\n' "$(quote "'" "CREATE ROLE $role")" "$name"
    cat <<SQL
BEGIN;
DELETE FROM pg_db_role_setting WHERE setrole = (SELECT oid FROM pg_roles WHERE rolname = $name);
INSERT INTO pg_db_role_setting SELECT setdatabase, r.oid, setconfig FROM pg_db_role_setting, pg_roles r
  WHERE setrole = (SELECT oid FROM pg_roles WHERE rolname = $owner) AND r.rolname = $name;
SELECT format('ALTER ROLE %I CONNECTION LIMIT %s VALID UNTIL %L', $name, rolconnlimit, coalesce(rolvaliduntil, 'infinity'))
  FROM pg_roles WHERE rolname = $owner \gexec
GRANT $(quote '"' "$1") TO $role;
ALTER ROLE $role SET role TO $owner;
COMMIT;
SQL
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

	// loginNote has functions for the note of the login that data was prepared for.
	loginNote = `
# The note is beside the data $1, so that data of a backup, with the passwords of its time, has its own.
login_hash() {
  printf '%s\n' "$LOGIN_SALT" "$LOGIN_ROTATION" "$LOGIN_PHASE" "$APP_USER" "$LOGIN_USER" "$APP_PASSWORD" "${REPLICATION_PASSWORD:-}" | sha256sum
}
noted() { [ -z "${LOGIN_USER:-}" ] || [ "$(cat "$1.logins" 2>/dev/null)" = "$(login_hash)" ]; }
note() { [ -z "${LOGIN_USER:-}" ] || login_hash >"$1.logins"; }

# restored reports whether the data $1 was imported from a snapshot, and has the passwords of another time or cluster.
restored() { [ -e "$1` + RestoredSuffix + `" ]; }
# refuse_logins ends the script if the data has no such users. They are not created: they would own nothing.
refuse_logins() {
  echo "the data did not take the password of the user $APP_USER: the Secret with the credentials of the database has to name a user of the data" >&2
  exit 1
}
`

	// mySQLUser has functions for the user $user of MySQL; run runs SQL with the password $1 of root.
	mySQLUser = `
# retains reports whether the user has an old password that is valid as well.
retains() {
  [ "$(echo "SELECT COUNT(*) FROM mysql.user WHERE User = $name AND Host = '%' AND JSON_EXTRACT(User_attributes, '\$.additional_password') IS NOT NULL;" | run "$administrator")" != 0 ]
}
# identified gives the user the password $1. What it retains stays unless $2 retains the current one instead.
identified() { echo "ALTER USER $user IDENTIFIED BY $(quote "'" "$1")${2:-};" | run "$administrator"; }
# discard ends the validity of an old password. MariaDB has none.
discard() {
  case $(echo 'SELECT VERSION();' | run "$administrator") in
    *MariaDB*) ;;
    *) echo "ALTER USER $user DISCARD OLD PASSWORD;" | run "$administrator" ;;
  esac
}
`

	mySQLChangeLogin = mySQLUser + `
owner=$(field) login=$(field) password=$(field) administrator=$(field) change=$(field) current=$(field)
# run runs SQL as root with the password $1. Backslashes are what they look like.
run() {
  { echo "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');" && cat; } |
    MYSQL_PWD=$1 mysql --protocol=socket --socket=/var/run/mysqld/mysqld.sock --user=root --batch --skip-column-names
}
name=$(quote "'" "$login") user="$(quote "'" "$login")@'%'"
# accepts reports whether the server accepts the password $1.
accepts() {
  MYSQL_PWD=$1 mysql --protocol=tcp --host=127.0.0.1 --port=3306 --connect-timeout=4 --user="$login" --batch --execute='SELECT 1' >/dev/null
}
# keep sets the password, and leaves the one that clients have valid. Retained twice, that one would be lost.
keep() {
  case $(echo 'SELECT VERSION();' | run "$administrator") in
    *MariaDB*)
      echo "MariaDB has one password for each user: it cannot be rotated without an outage" >&2
      exit 1 ;;
  esac
  if accepts "$password" 2>/dev/null; then
    return
  elif ! retains; then
    identified "$password" ' RETAIN CURRENT PASSWORD'
    return
  fi
  identified "$password"
  # What is retained is that of an interrupted change, and otherwise a left-over.
  if [ -n "$current" ] && ! accepts "$current" 2>/dev/null; then
    identified "$current"
    identified "$password" ' RETAIN CURRENT PASSWORD'
  fi
}
case $change in
  keep) keep ;;
  # What is discarded is the other one, also if clients were taken back to the password that is retained.
  discard | only)
    identified "$password"
    discard ;;
esac
accepts "$password"
`
)
