package database

import v1 "github.com/shopfleet/shopfleet/api/v1"

// ObservePrimaryCommand returns the command that prints, in the container of the primary, a line
// with the oldest WAL file, one with the size of WAL files in bytes, and one for each replica that
// is connected: its address, the seconds that it is behind, and whether it streams.
// It returns nil for engines whose replication is not observed.
func ObservePrimaryCommand(engine v1.Engine) []string {
	if engine != v1.EnginePostgreSQL {
		return nil
	}
	return []string{"sh", "-c", askServer + `
SELECT 'oldest', min(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$';
SELECT 'segment', pg_size_bytes(current_setting('wal_segment_size'));
SELECT 'replica', host(client_addr), coalesce(round(extract(epoch FROM replay_lag))::bigint, 0), state = 'streaming'
  FROM pg_stat_replication WHERE client_addr IS NOT NULL AND application_name = 'walreceiver';
SQL
`}
}

// ObserveReplicaCommand returns the command that prints, in the container of a replica, whether it
// recovers, and the position up to which it has WAL.
func ObserveReplicaCommand() []string {
	return []string{"sh", "-c", askServer + `
SELECT 'recovers', pg_is_in_recovery(), coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), '0/0');
SQL
`}
}

// RebuildCommand returns the command that makes the next pod on the volume of a replica copy the
// primary's data again.
func RebuildCommand() []string {
	return []string{"sh", "-c", `: >"$PGDATA` + rebuildSuffix + `"`}
}

// rebuildSuffix is appended to the path of the data of a replica that is to be copied again.
const rebuildSuffix = ".rebuild"

const askServer = `set -eu
exec psql --no-psqlrc --no-password --quiet --tuples-only --no-align --field-separator=' ' --set=ON_ERROR_STOP=1 \
  --host=/var/run/postgresql --port=5432 --username=postgres --dbname=postgres <<'SQL'`
