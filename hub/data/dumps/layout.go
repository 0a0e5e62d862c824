package dumps

import (
	"fmt"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	top          = "shopfleet/"
	manifestName = "manifest.json"
)

// Root returns the prefix of the keys of all dumps of a hub, or of one of its
// applications.
func Root(owner cloud.Owner) string {
	if owner.App == "" {
		return top + owner.Hub + "/"
	}
	return top + owner.Hub + "/" + owner.App + "/"
}

// Prefix returns the prefix of the keys of a Backup, without the trailing slash.
func Prefix(owner cloud.Owner, b *v1.Backup) string {
	return Root(owner) + b.Name + "-" + objectparts.Hash(string(b.UID))
}

// Owns reports whether a prefix belongs to the owner.
func Owns(owner cloud.Owner, prefix string) bool {
	return owner.Hub != "" && strings.HasPrefix(prefix, Root(owner))
}

// HubOf returns the hub whose dump is below a prefix; empty if it is none.
func HubOf(prefix string) string {
	below, is := strings.CutPrefix(prefix, top)
	hub, _, within := strings.Cut(below, "/")
	if !is || !within {
		return ""
	}
	return hub
}

// PartKey returns the key of a part; the first is number 0.
func PartKey(prefix string, i int) string { return fmt.Sprintf("%s/part-%05d", prefix, i) }

// ManifestKey returns the key of the manifest.
func ManifestKey(prefix string) string { return prefix + "/" + manifestName }

// IsManifest reports whether a key belongs to a manifest, and returns its prefix.
func IsManifest(key string) (prefix string, is bool) { return strings.CutSuffix(key, "/"+manifestName) }
