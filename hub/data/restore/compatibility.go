package restore

import (
	"fmt"
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

// volumeZone returns the zone for a volume, in the provider's notation: the requested zone, else
// the zone of the volume that it replaces, else the first zone of the cluster.
func volumeZone(asked, replaced string, m *v1.MemberCluster) string {
	switch {
	case asked != "":
		return providerZone(asked, m)
	case replaced != "":
		return replaced
	case len(m.Status.Zones) > 0:
		return providerZone(m.Status.Zones[0], m)
	default:
		return ""
	}
}

// providerZone returns the zone of a volume for the zone of a node: Azure's node labels put the
// region in front.
func providerZone(zone string, m *v1.MemberCluster) string {
	if m.Status.Provider == v1.ProviderAzure {
		return strings.TrimPrefix(zone, m.Status.Region+"-")
	}
	return zone
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

// volumeSize returns the size of a claim's volume in bytes: the size in the database's spec, if it
// is more than the snapshot needs. 0 means the snapshot's size.
func volumeSize(db *v1.Database, b *v1.BackupStatus, claim string) int64 {
	var least, wanted int64
	for i := range b.Snapshots {
		if s := &b.Snapshots[i]; s.Claim == claim {
			if q, err := resource.ParseQuantity(s.Size); err == nil {
				least = q.Value()
			}
		}
	}
	if db != nil {
		if q, err := db.StorageQuantity(); err == nil {
			wanted = q.Value()
		}
	}
	if wanted > least {
		return wanted
	}
	return 0
}
