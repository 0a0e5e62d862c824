package database

// A dump is named partial-* until it is complete and readable, and its manifest
// unfinished-* until all else is done. A dump with an unfinished manifest is invalid; one
// without manifest was created by an earlier release, and is valid.
const (
	dumpBegin = `# Dumps the database, says so in a manifest, and then prunes old dumps.
set -eu
umask 077
begin=$(date -u +%s)
stamp=$(date -u -d "@$begin" +%Y%m%dT%H%M%SZ)
partial=$BACKUPS/partial-$stamp
unfinished=$BACKUPS/unfinished-$stamp.json

# What a crash left behind. Other runs may be under way, and write now and then.
find "$BACKUPS" -maxdepth 1 -name 'partial-*' -mmin +60 -exec rm -f {} +
# Two runs that began in the same second: the later one fails and is tried again.
set -C
: >"$partial"
set +C
trap 'rm -f "$partial"' EXIT
`

	dumpEnd = `time_of() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
sum=$(sha256sum <"$partial")
bytes=$(wc -c <"$partial")
version=$(printf '%s' "${DB_VERSION:-}" | tr -cd 'A-Za-z0-9._+-')
manifest=$(printf '{"file":"%s","bytes":%d,"sha256":"%s","engine":"%s","version":"%s","snapshotTime":"%s","completionTime":"%s"}' \
  "$file" "$bytes" "${sum%% *}" "$engine" "$version" "$(time_of "$begin")" "$(time_of "$(date -u +%s)")")
printf '%s\n' "$manifest" >"$unfinished"
sync
mv "$partial" "$BACKUPS/$file"
sync
mv "$unfinished" "$BACKUPS/backup-$stamp.json"
sync
echo "$file is complete"
# For who looks at the pod from outside.
printf '%s\n' "$manifest" >/dev/termination-log || echo "the pod's status lacks the manifest" >&2
sh "${0%/*}/prune.sh"
`

	postgreSQLDump = dumpBegin + `
engine=postgresql file=backup-$stamp.dump
pg_dump --no-password --format=custom --file="$partial"
pg_restore --list "$partial" >/dev/null

` + dumpEnd

	mySQLDump = dumpBegin + `
engine=mysql file=backup-$stamp.sql.gz
# whole fails while a part of a dump is in the database.
whole() {
  loading=$(mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --database="$DB_NAME" --batch --skip-column-names \
    --execute="SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '` + LoadingTable + `'")
  if [ "$loading" != 0 ]; then
    echo "a part of a dump is in the database, which is being loaded or was not to its end: there is nothing whole to dump" >&2
    exit 1
  fi
}
whole
rm -f /tmp/complete
{
  mysqldump --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --single-transaction --quick \
    --routines --events --triggers --no-tablespaces --set-gtid-purged=OFF "$DB_NAME" && : >/tmp/complete
} | gzip >"$partial"
# A pipe tells only how its last command ended.
[ -e /tmp/complete ]
gzip --test <"$partial"
whole # Still: a load may have begun meanwhile.

` + dumpEnd

	pruneScript = `# Removes the dumps in $BACKUPS that are older than $KEEP_DAYS days and not among
# the $KEEP_LAST newest, and what was interrupted more than a day ago. $NOW is the
# time in seconds, if not now.
set -eu
now=${NOW:-$(date -u +%s)}
ago() { date -u -d "@$((now - $1 * 86400))" +%Y%m%d%H%M%S; }
oldest=$(ago "$KEEP_DAYS")
yesterday=$(ago 1)

# read_name sets the stamp in a file's name, and the same as a number; empty if it has none.
read_name() {
  stamp=${1##*/}
  stamp=${stamp#*-}
  stamp=${stamp%%.*}
  number=$(printf '%s' "$stamp" | sed -n 's/^\([0-9]\{8\}\)T\([0-9]\{6\}\)Z$/\1\2/p')
}

# is_dump tells whether a file is a dump that counts. Those of earlier releases have no
# manifest, and no unfinished one either.
is_dump() {
  read_name "$1"
  [ -f "$1" ] && [ -n "$number" ] && [ "${1%.json}" = "$1" ] && [ ! -e "$BACKUPS/unfinished-$stamp.json" ]
}

for file in "$BACKUPS"/unfinished-[0-9]*T[0-9]*Z.json; do
  read_name "$file"
  if [ -f "$file" ] && [ -n "$number" ] && [ "$number" -lt "$yesterday" ]; then
    rm -f "$BACKUPS/backup-$stamp".*
    rm -f "$file"
    echo "backup-$stamp was not finished, and is removed"
  fi
done

count=0
for file in "$BACKUPS"/backup-[0-9]*T[0-9]*Z.*; do
  if is_dump "$file"; then
    count=$((count + 1))
  fi
done

# The names sort by time: the oldest come first.
for file in "$BACKUPS"/backup-[0-9]*T[0-9]*Z.*; do
  if ! is_dump "$file"; then
    continue
  fi
  if [ "$count" -le "$KEEP_LAST" ] || [ "$count" -le 1 ] || [ "$number" -ge "$oldest" ]; then
    break
  fi
  # Interrupted from here on, it is one that does not count.
  if [ -e "$BACKUPS/backup-$stamp.json" ]; then
    mv "$BACKUPS/backup-$stamp.json" "$BACKUPS/unfinished-$stamp.json"
  fi
  rm -f "$file"
  rm -f "$BACKUPS/unfinished-$stamp.json"
  echo "${file##*/} is pruned"
  count=$((count - 1))
done
`
)
