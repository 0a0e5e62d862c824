package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"strings"
)

// Name returns a deterministic name for a snapshot: 29 characters that every provider
// accepts. The parts are the hub's UID, the application's UID, the claim's UID, the scheduled
// time and the purpose, in this order.
func Name(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	encoded := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return "eb-" + strings.ToLower(encoded[:26])
}

// Owner selects the snapshots of a hub, or of one of its applications.
type Owner struct {
	// Hub is the UID of the hub's cluster.
	Hub string
	// App is the UID of the application. Empty selects all applications of the hub.
	App string
}

// Owns reports whether tags mark an object of the owner.
func (o Owner) Owns(t Tags) bool {
	return o.Hub != "" && t[TagHub] == o.Hub && (o.App == "" || t[TagApp] == o.App)
}

// Tags mark snapshots of the hub, which finds them again by their tags. Keys are the constants
// below: lower case letters and dashes, which every provider accepts. Values have
// at most 256 characters. Where a provider allows fewer, as Google Cloud does for labels, the
// adapter stores them elsewhere and returns them complete.
type Tags map[string]string

// The keys of tags. TagHub, TagApp and TagName are always set, the others if they are known.
const (
	TagHub           = "shopfleet-hub"            // UID of the hub's cluster.
	TagApp           = "shopfleet-app"            // UID of the application.
	TagName          = "shopfleet-name"           // Name of the snapshot itself.
	TagNamespace     = "shopfleet-namespace"      // Namespace of the application.
	TagAppName       = "shopfleet-app-name"       // Name of the application.
	TagCluster       = "shopfleet-cluster"        // Name of the member.
	TagClaim         = "shopfleet-claim"          // Name of the claim.
	TagVolume        = "shopfleet-volume"         // UID of the source volume.
	TagBackup        = "shopfleet-backup"         // Name of the Backup.
	TagScheduledTime = "shopfleet-scheduled-time" // Scheduled time of the backup, RFC 3339 in UTC.
	TagEngine        = "shopfleet-engine"         // Engine of the database.
	TagVersion       = "shopfleet-version"        // Version of the engine.
	TagCopyOf        = "shopfleet-copy-of"        // ID of the source snapshot of a copy.
	TagOf            = "shopfleet-of"             // Number of snapshots of the backup, in decimal.
	TagLevel         = "shopfleet-level"          // Consistency of the backup.
	TagPosition      = "shopfleet-position"       // Position of the database before the first request.
	TagDeleteLock    = "shopfleet-delete-lock"    // Days that the data stays after the deletion of the backup, in decimal.
)

// With returns a copy of the tags with others added.
func (t Tags) With(others Tags) Tags {
	out := make(Tags, len(t)+len(others))
	maps.Copy(out, t)
	maps.Copy(out, others)
	return out
}
