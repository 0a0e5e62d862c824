package restore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// filesMismatch returns why a database could not work with the files of a backup, and what to
// do; empty if it can, or if there is no database.
func filesMismatch(db *v1.Database, b *v1.BackupStatus) string {
	if db == nil {
		return ""
	}
	version := db.ExactVersion()
	switch {
	case db.Engine != b.Engine:
		return engines(db, b)
	case !database.SameFiles(version, b.Version):
		return fmt.Sprintf("the backup is of %s %s, whose files version %s cannot read: set spec.database.version to %s",
			b.Engine, b.Version, version, b.Version)
	case db.Engine == v1.EngineMySQL && isOlder(version, b.Version):
		return fmt.Sprintf("the backup is of %s %s, whose files the older version %s cannot read: set spec.database.version to %s",
			b.Engine, b.Version, version, b.Version)
	default:
		return ""
	}
}

// isOlder reports whether a version is older than another, by the numbers that both have.
func isOlder(version, than string) bool {
	a, b := strings.FieldsFunc(version, isSeparator), strings.FieldsFunc(than, isSeparator)
	for i := range min(len(a), len(b)) {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		if errX != nil || errY != nil || x != y {
			return errX == nil && errY == nil && x < y
		}
	}
	return false
}

func isSeparator(r rune) bool { return r == '.' || r == '-' }

// dumpMismatch returns why a dump could not be loaded into a database, and what to do; empty if it
// can, as into one of the same major version or a newer one, or if there is no database.
func dumpMismatch(db *v1.Database, b *v1.BackupStatus) string {
	switch {
	case db == nil:
		return ""
	case db.Engine != b.Engine:
		return engines(db, b)
	case major(db.Version) < major(b.Version):
		return fmt.Sprintf("the dump is of %s %s, which version %s cannot load: set spec.database.version to %s or a newer one",
			b.Engine, b.Version, db.Version, b.Version)
	default:
		return ""
	}
}

func engines(db *v1.Database, b *v1.BackupStatus) string {
	return fmt.Sprintf("the backup is of %s, and the application's database is %s", b.Engine, db.Engine)
}

// major returns the number that a version begins with; 0 if it does not begin with a number.
func major(version string) int {
	digits := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// verificationSize returns the size of the volume of a database that a dump is loaded into to prove
// it, in bytes: as the application's, because a dump does not say how large it will be, at least four times
// the dump, and at least 1 GiB.
func verificationSize(db *v1.Database, b *v1.BackupStatus) int64 {
	const factor, least = 4, 1 << 30
	bytes := int64(least)
	if b.Dump != nil {
		bytes = max(bytes, factor*b.Dump.Bytes)
	}
	if db != nil {
		if q, err := db.StorageQuantity(); err == nil {
			bytes = max(bytes, q.Value())
		}
	}
	return bytes
}

// snapshotSize returns the size of the volume that a snapshot, or the one that it is a copy of, was taken of; 0 if it is not known.
func snapshotSize(b *v1.BackupStatus, id string) resource.Quantity {
	for i := range b.Snapshots {
		s := &b.Snapshots[i]
		if s.ID != id && !slices.ContainsFunc(s.Copies, func(c v1.CloudSnapshot) bool { return c.ID == id }) {
			continue
		}
		if q, err := resource.ParseQuantity(s.Size); err == nil {
			return q
		}
	}
	return resource.Quantity{}
}
