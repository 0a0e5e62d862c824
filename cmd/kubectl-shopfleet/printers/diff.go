package printers

import (
	"fmt"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ClusterDiff represents the changes that are held back in a cluster.
type ClusterDiff struct {
	// Name is the name of the MemberCluster.
	Name string `json:"name"`
	// Paused is set if the MemberCluster is paused.
	Paused bool `json:"paused"`
	// SafeMode is set if the hub writes nothing to the member because it is in safe mode.
	SafeMode bool `json:"safeMode"`
	// Stale is set if the cluster does not respond, so that the changes may be outdated.
	Stale bool `json:"stale"`
	// PendingChangeCount counts all changes. Changes may have only the first of them.
	PendingChangeCount int32              `json:"pendingChangeCount"`
	Changes            []v1.PendingChange `json:"changes"`
}

// Diff prints what is not written, by cluster, in the form of a diff.
func Diff(app string, clusters []ClusterDiff) string {
	var b strings.Builder
	for i := range clusters {
		c := &clusters[i]
		if c.PendingChangeCount == 0 {
			continue
		}
		fmt.Fprintf(&b, "--- %s in %s\n+++ %s on the hub\n", app, c.Name, app)
		for j := range c.Changes {
			change(&b, &c.Changes[j])
		}
		if more := int(c.PendingChangeCount) - len(c.Changes); more > 0 {
			fmt.Fprintf(&b, "# %d more, which the status does not list\n", more)
		}
	}
	return b.String()
}

// change prints a change: its fields as removed and added lines.
func change(b *strings.Builder, c *v1.PendingChange) {
	switch c.Action {
	case v1.PendingCreate:
		fmt.Fprintf(b, "+%s/%s\n", c.Kind, c.Name)
	case v1.PendingDelete:
		fmt.Fprintf(b, "-%s/%s\n", c.Kind, c.Name)
	default:
		fmt.Fprintf(b, "@@ %s %s/%s @@\n", strings.ToLower(string(c.Action)), c.Kind, c.Name)
	}
	for _, field := range c.Fields {
		path, values, ok := strings.Cut(field, ": ")
		was, is, both := strings.Cut(values, " -> ")
		if !ok || !both || strings.Contains(is, " -> ") {
			fmt.Fprintf(b, " %s\n", field) // It cannot be divided for certain.
			continue
		}
		fmt.Fprintf(b, "-%s: %s\n+%s: %s\n", path, was, path, is)
	}
}
