package database

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// SnapshotTimeout bounds the command of SnapshotCommand in the container.
const SnapshotTimeout = 30 * time.Second

// maxPosition bounds a position, in bytes. Clouds keep it as the value of a tag.
const maxPosition = 256

// SnapshotCommand returns the command that is run in the primary's container before a volume snapshot is requested. It
// prints the position of the log, or nothing if the server does not flush to disk what it says is there. PostgreSQL then writes
// a checkpoint, without which the command fails. InnoDB writes changed pages all the time, and recovers from the log that each
// commit writes. The command holds nothing, and needs nothing that pods of earlier releases lack.
//
// The checkpoint comes last, because the log may be flushed up to the middle of a record, which recovery leaves out: the
// record of the checkpoint is after the position, and on disk. MySQL counts a transaction as executed after it has
// flushed it. The command fails with MySQL if the password was rotated since the pod started.
func SnapshotCommand(engine v1.Engine) []string {
	limit := []string{"timeout", strconv.Itoa(int(SnapshotTimeout.Seconds()))}
	if engine == v1.EngineMySQL {
		return append(limit, "sh", "-c", `export MYSQL_PWD="$APP_PASSWORD"
exec mysql --protocol=socket --socket=/var/run/mysqld/mysqld.sock --user="$APP_USER" --batch --raw --skip-column-names \
  --execute="SELECT REPLACE(@@GLOBAL.gtid_executed, CHAR(10), '') FROM DUAL WHERE @@GLOBAL.gtid_mode = 'ON' AND @@GLOBAL.log_bin = 1
    AND @@GLOBAL.sync_binlog = 1 AND @@GLOBAL.innodb_flush_log_at_trx_commit = 1"`)
	}
	return append(limit, "psql", "--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align", "--field-separator= ",
		"--host=/var/run/postgresql", "--port=5432", "--username=postgres", "--dbname=postgres",
		"--command=SELECT system_identifier, timeline_id, pg_current_wal_insert_lsn() FROM pg_control_system(), pg_control_checkpoint() "+
			"WHERE NOT pg_is_in_recovery() AND current_setting('fsync') = 'on'",
		// psql fails if the last command does.
		"--command=CHECKPOINT")
}

// Position returns the position in an output of SnapshotCommand, which comes from a member: of PostgreSQL the system
// identifier, the timeline and the LSN, of MySQL the set of executed GTIDs. It returns nothing for any other text.
func Position(engine v1.Engine, output string) string {
	form := regexp.MustCompile(`^[0-9]{1,20} [0-9]{1,10} [0-9A-F]{1,8}/[0-9A-F]{1,8}$`)
	if engine == v1.EngineMySQL {
		// Of each server the intervals of its transactions, some of them behind a tag.
		const hex, interval = `[0-9a-f]`, `:[0-9]{1,19}(-[0-9]{1,19})?`
		const server = hex + `{8}(-` + hex + `{4}){3}-` + hex + `{12}(:[a-z_][a-z0-9_]{0,31}|` + interval + `)*` + interval
		form = regexp.MustCompile(`^` + server + `(,` + server + `)*$`)
	}
	position := strings.TrimSuffix(output, "\n")
	if len(position) > maxPosition || !form.MatchString(position) {
		return ""
	}
	return position
}
