package cloud

import (
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"strings"
)

// Name returns the name of a snapshot or volume: 29 characters that every provider
// takes, the same for the same parts. Parts are the hub, the application's UID, the
// claim's UID, the scheduled time and what it is for; their order matters.
func Name(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	encoded := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return "eb-" + strings.ToLower(encoded[:26])
}

// Owner is whose snapshots and volumes: those of one hub, and of one application if App is set.
type Owner struct {
	// Hub is the UID of the hub's cluster.
	Hub string
	// App is the UID of the application; empty: all of the hub.
	App string
}

// Owns tells whether tags say that something is the owner's.
func (o Owner) Owns(t Tags) bool {
	return o.Hub != "" && t[TagHub] == o.Hub && (o.App == "" || t[TagApp] == o.App)
}

// Tags are what marks our snapshots and volumes, from which they are found again.
// Keys are those below: lower case letters and dashes, which every provider takes.
// Values are at most 256 characters; a provider that takes less, as Google Cloud does
// for labels, keeps them elsewhere and gives them back whole.
type Tags map[string]string

// The keys of tags. Hub, App and Name are always there, the others where they are known.
const (
	TagHub           = "shopfleet-hub"            // UID of the hub's cluster.
	TagApp           = "shopfleet-app"            // UID of the application.
	TagName          = "shopfleet-name"           // Name of the snapshot or volume itself.
	TagNamespace     = "shopfleet-namespace"      // Namespace of the application.
	TagAppName       = "shopfleet-app-name"       // Name of the application.
	TagCluster       = "shopfleet-cluster"        // Name of the member.
	TagClaim         = "shopfleet-claim"          // Name of the claim.
	TagVolume        = "shopfleet-volume"         // UID of the volume that it was made of.
	TagBackup        = "shopfleet-backup"         // Name of the Backup.
	TagScheduledTime = "shopfleet-scheduled-time" // When it was due, RFC 3339 in UTC.
	TagEngine        = "shopfleet-engine"         // Engine of the database.
	TagVersion       = "shopfleet-version"        // Version of the engine.
	TagCopyOf        = "shopfleet-copy-of"        // ID of the snapshot that it is a copy of.
	TagOf            = "shopfleet-of"             // How many snapshots the backup has, in decimal.
	TagLevel         = "shopfleet-level"          // Consistency that was achieved.
)

// With returns tags with others added.
func (t Tags) With(others Tags) Tags {
	out := make(Tags, len(t)+len(others))
	maps.Copy(out, t)
	maps.Copy(out, others)
	return out
}
