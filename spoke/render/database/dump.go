package database

import (
	"regexp"
	"strings"
)

// A dump is named partial-* until it is complete and readable, and its manifest
// unfinished-* until all else is done. A dump with an unfinished manifest is invalid, and is removed
// after a day; one without manifest was created by an earlier release, and is valid.
//
// The manifest, backup-<stamp>.json, has one line: the file, its size and checksum, engine, version,
// start and completion time. It is renamed last, and the line is the termination message of the pod,
// where the hub reads it. Its field removedEarly is the stamp of the mark that spaceFunctions leave,
// and notPruned says that retention removed nothing, because the clocks of node and database differ by
// five minutes or more: one that is ahead would make every dump an old one, and nothing tells which of
// the two is right. The log of a run that fails ends with a line that has removedEarly (RemovedEarly).
const (
	// dumpFunctions are the functions of both scripts.
	dumpFunctions = `# read_name sets named to the stamp in a file's name, and number to its digits; empty if
# it has none.
read_name() {
  named=${1##*/}
  named=${named#*-}
  named=${named%%.*}
  number=$(printf '%s' "$named" | sed -n 's/^\([0-9]\{8\}\)T\([0-9]\{6\}\)Z$/\1\2/p')
}

# is_dump reports whether a file is a valid dump. Those of earlier releases have no
# manifest, and no unfinished one either.
is_dump() {
  read_name "$1"
  [ -f "$1" ] && [ -n "$number" ] && [ "${1%.json}" = "$1" ] &&
    [ ! -e "$BACKUPS/unfinished-$named.json" ] && [ ! -e "$BACKUPS/early-$named" ]
}

# list_dumps sets count to the number of valid dumps, and first and last to the oldest and the
# newest. The names sort by time.
list_dumps() {
  count=0 first= last=
  for found in "$BACKUPS"/backup-[0-9]*T[0-9]*Z.*; do
    if is_dump "$found"; then
      count=$((count + 1))
      first=${first:-$found}
      last=$found
    fi
  done
}
`

	dumpBegin = `# Removes old dumps, dumps the database, and describes the dump in a manifest.
set -eu
umask 077

# prune removes old dumps, and sets unpruned to what the manifest says if it trusts no clock.
unpruned=
prune() {
  pruned=0
  sh "${0%/*}/prune.sh" || pruned=$?
  case $pruned in
    0) unpruned= ;;
    3) unpruned=',"notPruned":"ClockSkew"' ;;
    *) exit "$pruned" ;;
  esac
}

prune
begin=$(date -u +%s)
stamp=$(date -u -d "@$begin" +%Y%m%dT%H%M%SZ)
partial=$BACKUPS/partial-$stamp
unfinished=$BACKUPS/unfinished-$stamp.json

` + dumpFunctions + spaceFunctions + `
# What a crash left behind. Other runs may be under way, and write now and then.
find "$BACKUPS" -maxdepth 1 -name 'partial-*' -mmin +60 -exec rm -f {} +
finish_early
# Two runs that began in the same second: the later one fails and is tried again.
set -C
: >"$partial"
set +C
trap 'status=$?; rm -f "$partial"; [ -e "$BACKUPS/$file" ] || rm -f "$unfinished"; [ "$status" = 0 ] || report_early >&2' EXIT
`

	// spaceFunctions remove dumps before their retention ends, because a claim that is too small is
	// better filled with fewer dumps than with none of today: the oldest ones go if that makes space
	// for the next, and none if it does not. When less than 5/4 of the size of the newest is free, and
	// when a dump failed because the claim is full, the next dump is measured by one that is not
	// written: an estimate could remove dumps for nothing. The database is then read twice. The script
	// cannot know why there is little space: on a volume that is shared, dumps also go for what others
	// write. If the next dump does not fit beside the newest, the script fails with the size that the
	// claim needs.
	//
	// The mark early-<stamp> of the newest dump that was removed remains, so that a crash hides no
	// removal and later runs report it too. It is the renamed manifest, because a full volume may have
	// no space for another file.
	spaceFunctions = `
# finish_early deletes the files of marked dumps, and sets early to the newest mark.
finish_early() {
  early=
  for found in "$BACKUPS"/early-[0-9]*T[0-9]*Z; do
    read_name "$found"
    if [ -f "$found" ] && [ -n "$number" ]; then
      rm -f "$BACKUPS/backup-$named".*
      [ -z "$early" ] || rm -f "$BACKUPS/early-$early"
      early=$named
    fi
  done
}

# remove_oldest removes the oldest dump, and adds its size to free. It fails if there is no other.
remove_oldest() {
  list_dumps
  [ "$count" -gt 1 ] || return 1
  free=$((free + $(bytes "$first")))
  read_name "$first"
  mv -f "$BACKUPS/backup-$named.json" "$BACKUPS/early-$named" 2>/dev/null || touch "$BACKUPS/early-$named" || exit 1
  finish_early
  echo "${first##*/} is removed before its retention ended, to free space"
}

# report_early prints which dumps were removed before their retention ended. The hub reads this line.
report_early() {
  [ -z "$early" ] || echo "Dumps up to $early were removed before their retention ended"
}

# available prints the free bytes of the claim; 0 if they are not known.
available() {
  blocks=$(df -P -k "$BACKUPS" | sed -n 's/^.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*$/\1/p')
  echo "$((${blocks:-0} * 1024))"
}

# bytes prints the size of a file.
bytes() { wc -c <"$1"; }

# measure sets next to the size of the next dump, which it does not write. That takes as long as a
# dump, but no estimate shows that removing dumps helps. It ends the script if it fails.
measure() {
  rm -f /tmp/measured
  next=$({ stream && : >/tmp/measured; } | wc -c)
  [ -e /tmp/measured ] || exit 1
}

# make_space removes the oldest dumps until free is enough for the next one, for its manifest, and for
# what the database grows meanwhile. If it does not fit beside the newest, it fails and removes none.
make_space() {
  need=$((next + next / 16 + 65536))
  list_dumps
  spare=0
  for found in "$BACKUPS"/backup-[0-9]*T[0-9]*Z.*; do
    if is_dump "$found" && [ "$found" != "$last" ]; then
      spare=$((spare + $(bytes "$found")))
    fi
  done
  [ "$((free + spare))" -ge "$need" ] || return 1
  while [ "$free" -lt "$need" ]; do
    remove_oldest || return 1
  done
}

# full reports whether no more can be written.
full() { ! head -c 65536 /dev/zero >>"$partial" 2>/dev/null; }

# report_small ends the script, with the size that the claim needs: that of the newest dump and
# 5/4 of the next.
report_small() {
  list_dumps
  size=0
  [ -z "$last" ] || size=$(bytes "$last")
  {
    echo "The claim $CLAIM is too small: it needs $((size + next + next / 4)) bytes for the newest dump and the next." \
      "Expand it, for example by spec.database.storage"
    report_early
  } | tee /dev/termination-log >&2
  early=
  exit 1
}
`

	dumpEnd = `
time_of() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }

# publish writes the manifest, and renames the dump and it.
publish() {
  sum=$(sha256sum <"$partial")
  size=$(bytes "$partial")
  version=$(printf '%s' "${DB_VERSION:-}" | tr -cd 'A-Za-z0-9._+-')
  removed=
  [ -z "$early" ] || removed=$(printf ',"removedEarly":"%s"' "$early")
  printf '{"file":"%s","bytes":%d,"sha256":"%s","engine":"%s","version":"%s","snapshotTime":"%s","completionTime":"%s"%s%s}\n' \
    "$file" "$size" "${sum%% *}" "$engine" "$version" "$(time_of "$begin")" "$(time_of "$(date -u +%s)")" "$removed" "$unpruned" >"$unfinished"
  sync
  mv "$partial" "$BACKUPS/$file"
  sync
  mv "$unfinished" "$BACKUPS/backup-$stamp.json"
  sync
}

# What may not fit is measured before it is tried, so that a volume that others use, too, is seldom
# filled. It is tried even if removals are not known to help: make_space leaves some space.
next=
list_dumps
size=0
[ -z "$last" ] || size=$(bytes "$last")
free=$(available)
if [ "$free" -lt "$((size + size / 4))" ]; then
  measure
  make_space || :
fi
while :; do
  # A subshell, because set -e has no effect in a condition.
  set +e
  (set -e; dump; publish)
  status=$?
  set -e
  [ "$status" != 0 ] || break
  # What was written is what was free.
  free=$(bytes "$partial") || exit "$status"
  full || exit "$status"
  : >"$partial"
  [ -n "$next" ] || measure
  [ "$free" -le "$next" ] || next=$free
  make_space || report_small
done
echo "$file is complete"
# The termination message shows the manifest in the status of the pod.
cat "$BACKUPS/backup-$stamp.json" >/dev/termination-log || echo "the pod's status lacks the manifest" >&2
prune
`

	postgreSQLDump = dumpBegin + `
engine=postgresql file=backup-$stamp.dump
stream() { pg_dump --no-password --format=custom "$@"; }
dump() {
  stream --file="$partial"
  pg_restore --list "$partial" >/dev/null
}
` + dumpEnd

	mySQLDump = dumpBegin + `
engine=mysql file=backup-$stamp.sql.gz
# whole fails while a part of a dump is in the database.
whole() {
  loading=$(mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --database="$DB_NAME" --batch --skip-column-names \
    --execute="SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '` + LoadingTable + `'")
  if [ "$loading" != 0 ]; then
    echo "a part of a dump is in the database, which is being loaded or was not to its end: the database is incomplete" >&2
    exit 1
  fi
}
stream() {
  whole
  rm -f /tmp/complete
  {
    mysqldump --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --single-transaction --quick \
      --routines --events --triggers --no-tablespaces --set-gtid-purged=OFF --max-allowed-packet=1G "$DB_NAME" && : >/tmp/complete
  } | gzip
  # A pipe tells only how its last command ended.
  [ -e /tmp/complete ]
}
dump() {
  stream >"$partial"
  gzip --test <"$partial"
  whole # Still: a load may have begun meanwhile.
}
` + dumpEnd

	// postgreSQLClock and mySQLClock print the time of the database in seconds.
	postgreSQLClock = `database_clock() {
  PGCONNECT_TIMEOUT=10 psql --no-psqlrc --no-password --tuples-only --no-align --command='SELECT floor(extract(epoch FROM clock_timestamp()))'
}
`
	mySQLClock = `database_clock() {
  mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --connect-timeout=10 --batch --skip-column-names \
    --execute='SELECT UNIX_TIMESTAMP()'
}
`

	// pruneBegin has the clock of the database, and pruneScript the rest.
	pruneBegin = `# Removes the dumps in $BACKUPS that are older than $KEEP_DAYS days and not among
# the $KEEP_LAST newest, and what was interrupted more than a day ago. $NOW is the
# time in seconds, if not now.
# It removes nothing, and ends with 3, unless the clocks of this node and of the database agree:
# one that is ahead would make every dump an old one.
set -eu

`

	pruneScript = `
now=${NOW:-$(date -u +%s)}
clock=$(database_clock) || clock=
case $clock in
  '' | *[!0-9]*)
    echo "No dump is pruned: the clock of the database is not known" >&2
    exit 3
    ;;
esac
skew=$((now - clock))
skew=${skew#-}
if [ "$skew" -ge 300 ]; then
  echo "No dump is pruned: the clocks of this node and of the database's differ by $skew seconds. Set them" >&2
  exit 3
fi
ago() { date -u -d "@$((now - $1 * 86400))" +%Y%m%d%H%M%S; }
oldest=$(ago "$KEEP_DAYS")
yesterday=$(ago 1)

` + dumpFunctions + `
for file in "$BACKUPS"/unfinished-[0-9]*T[0-9]*Z.json; do
  read_name "$file"
  if [ -f "$file" ] && [ -n "$number" ] && [ "$number" -lt "$yesterday" ]; then
    rm -f "$BACKUPS/backup-$named".*
    rm -f "$file"
    echo "backup-$named was not finished, and is removed"
  fi
done

list_dumps
for file in "$BACKUPS"/backup-[0-9]*T[0-9]*Z.*; do
  if ! is_dump "$file"; then
    continue
  fi
  if [ "$count" -le "$KEEP_LAST" ] || [ "$count" -le 1 ] || [ "$number" -ge "$oldest" ]; then
    break
  fi
  # Interrupted from here on, it is one that does not count.
  if [ -e "$BACKUPS/backup-$named.json" ]; then
    mv "$BACKUPS/backup-$named.json" "$BACKUPS/unfinished-$named.json"
  fi
  rm -f "$file"
  rm -f "$BACKUPS/unfinished-$named.json"
  echo "${file##*/} is pruned"
  count=$((count - 1))
done
`
)

// RemovedEarly returns the stamp in the last line of the message of a dump that failed: that
// of the newest dump that was removed before its retention ended; empty if none was.
func RemovedEarly(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	m := regexp.MustCompile(`^Dumps up to ([0-9]{8}T[0-9]{6}Z) were removed before their retention ended$`).FindStringSubmatch(lines[len(lines)-1])
	if m == nil {
		return ""
	}
	return m[1]
}
