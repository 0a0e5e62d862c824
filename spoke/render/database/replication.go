package database

import v1 "github.com/shopfleet/shopfleet/api/v1"

// ObservePrimaryCommand returns the command that prints, in the container of the primary, a line
// with its system identifier, timeline and position, one with the oldest WAL file, one with the size
// of WAL files in bytes, and one for each replica that is connected: its address and the seconds
// that it is behind. It fails on a server that recovers.
// It returns nil for engines whose replication is not observed.
func ObservePrimaryCommand(engine v1.Engine) []string {
	if engine != v1.EnginePostgreSQL {
		return nil
	}
	return []string{"sh", "-c", "set -eu\nexec " + askServer + ` <<'SQL'
SELECT 'primary', (pg_control_system()).system_identifier,
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int, pg_current_wal_lsn();
SELECT 'oldest', min(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$';
SELECT 'segment', pg_size_bytes(current_setting('wal_segment_size'));
SELECT 'replica', host(client_addr), coalesce(round(extract(epoch FROM replay_lag))::bigint, 0)
  FROM pg_stat_replication WHERE client_addr IS NOT NULL AND application_name = 'walreceiver';
SQL
`}
}

// ObserveReplicaCommand returns the command that prints, in the container of a replica, recovers or
// promoted, streams or waits, its system identifier and timeline, the position up to which it
// has WAL, and for how many seconds it has not applied what it has.
func ObserveReplicaCommand() []string {
	return []string{"sh", "-c", "set -eu\nexec " + askServer + ` <<'SQL'
SELECT CASE WHEN pg_is_in_recovery() THEN 'recovers' ELSE 'promoted' END, CASE WHEN ` + streams + ` THEN 'streams' ELSE 'waits' END, (pg_control_system()).system_identifier,
  greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline), coalesce(` + received + `, '0/0'),
  CASE WHEN pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()
    THEN coalesce(round(extract(epoch FROM now() - pg_last_xact_replay_timestamp()))::bigint, 0) ELSE 0 END;
SQL
`}
}

// RebuildCommand returns the command that asks the next start of a pod on the volume of a replica to
// copy the primary's data again. It fails on a server that is promoted or streams, and for an hour
// after a start that refused.
func RebuildCommand() []string {
	return []string{"sh", "-c", `set -eu
if [ -n "$(find "$PGDATA` + keptSuffix + `" -mmin -60 2>/dev/null)" ]; then
  cat "$PGDATA` + keptSuffix + `" >&2
  exit 1
fi
position=$(` + askServer + ` --command="SELECT ` + received + ` WHERE pg_is_in_recovery() AND NOT ` + connected + `")
[ -n "$position" ]
# A link, because a full volume may have no space for the content of a file.
ln -s -f -n "$position" "$PGDATA` + rebuildSuffix + `"
`}
}

const (
	// rebuildSuffix is appended to the path of the data for the request to copy it again: a link to
	// the position of the replica that was lost. keptSuffix is for a file that says why the last
	// request was refused.
	rebuildSuffix = ".rebuild-at"
	keptSuffix    = ".kept"

	askServer = `psql --no-psqlrc --no-password --quiet --tuples-only --no-align --field-separator=' ' --set=ON_ERROR_STOP=1 \
  --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres`
	connected = `EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`
	// streams does not count a receiver in its first two seconds: one that the primary refuses, because
	// the WAL was removed, is connected until it is told so, and is started again every five seconds.
	streams = `EXISTS (SELECT FROM pg_stat_wal_receiver JOIN pg_stat_activity USING (pid)
    WHERE status = 'streaming' AND backend_start < now() - interval '2 s')`
	received = `greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())`

	// ControlFunctions are functions of a script that has the output of pg_controldata in $control. control_of prints a value of
	// it, number an LSN as a number.
	ControlFunctions = `control_of() { printf '%s\n' "$control" | sed -n "s/^$1: *//p"; }
number() { echo "$((0x${1%/*} * 4294967296 + 0x${1#*/}))"; }
`

	// postgreSQLRebuild precedes the script that makes the data directory of a new pod. It moves the
	// data of a lost replica to where that script removes it from before it copies the primary's.
	// Whatever cannot be read or compared keeps the data. The request is taken away before anything
	// else, so that it is valid once. The data is removed only if it is a standby's, and the system
	// identifier, timeline and position that the primary reports say that the primary has all of it. A
	// start that refuses is not repeated for an hour.
	postgreSQLRebuild = `# The data of a replica is removed only for a request, which is valid for one start, and only if the
# primary has all of it. That of a replica that was promoted, or of another database, stays.
set -eu
` + ControlFunctions + `refuse() {
  echo "$1"
  exit 1
}
# ask_primary prints its system identifier, timeline and position.
ask_primary() {
  PGPASSWORD=$REPLICATION_PASSWORD psql --no-psqlrc --no-password --quiet --tuples-only --no-align --field-separator=' ' \
    --host="$PRIMARY_HOST" --port=5432 --username=replication --dbname='replication=true connect_timeout=5' --command=IDENTIFY_SYSTEM
}
# check fails, and says why, unless the primary has all of the data. $1 is the position of the replica when it was asked for.
check() {
  [ -e "$PGDATA/standby.signal" ] || [ -e "$PGDATA/recovery.conf" ] || refuse "it is not that of a standby"
  control=$(LC_ALL=C pg_controldata "$PGDATA") || refuse "its control file cannot be read"
  case $(control_of 'Database cluster state') in
    'in archive recovery' | 'shut down in recovery') ;;
    *) refuse "it was not recovering when it was stopped" ;;
  esac
  tries=0
  until primary=$(ask_primary); do
    tries=$((tries + 1))
    [ "$tries" -lt 12 ] || refuse "the primary does not answer"
    sleep 5
  done
  asked=$(number "$1")
  reached=$(number "$(control_of 'Minimum recovery ending location')")
  # Its fields are words.
  set -- $primary
  [ "$(control_of 'Database system identifier')" = "$1" ] || refuse "it is of another database than that of the primary"
  [ "$(control_of "Latest checkpoint's TimeLineID")" = "$2" ] && [ "$(control_of "Min recovery ending loc's timeline")" = "$2" ] ||
    refuse "it is of another timeline than that of the primary"
  [ "$reached" -le "$asked" ] || refuse "it has followed the primary since it was asked for"
  [ "$asked" -le "$(number "$3")" ] || refuse "it has what the primary does not have"
}
# rebuild moves the data away if the primary has all of it. $1 is as for check.
rebuild() {
  if reason=$(check "$1" 2>&1); then
    rm -rf "$PGDATA.new"
    mv "$PGDATA" "$PGDATA.new"
    echo "the primary's data is copied again"
  else
    echo "the data stays, and is not copied from the primary again: $reason" | tee "$PGDATA` + keptSuffix + `" >&2 || true
  fi
}
if [ "${POD_NAME##*-}" != 0 ] && [ -L "$PGDATA` + rebuildSuffix + `" ]; then
  asked=$(readlink "$PGDATA` + rebuildSuffix + `")
  rm -f "$PGDATA` + rebuildSuffix + `" "$PGDATA` + keptSuffix + `"
  sync
  rebuild "$asked"
fi

`
)
