package printers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Recover lists what a user has to settle: clusters of EcommerceApps that a restored hub found, copies that no
// EcommerceApp owns, each with the name of its cluster as a label, and MemberClusters that another hub manages.
func Recover(apps, orphans []v1.EcommerceApp, members []v1.MemberCluster, now time.Time) *metav1.Table {
	t := newTable([]string{"NAME", "CLUSTER", "REASON", "FOUND", "SETTLE"}, "ORIGIN", "MESSAGE")
	for i := range apps {
		app := &apps[i]
		for j := range app.Status.Clusters {
			if c := &app.Status.Clusters[j]; Waits(c) {
				addRow(t, app, app.Name, c.Name, c.Reason, found(app, c), settle(c), c.UnknownOrigin, c.Message)
			}
		}
	}
	for i := range orphans {
		c := &orphans[i]
		addRow(t, c, c.Name, c.Labels[v1.ClusterLabel], reasonOrphan, "a copy of age "+age(now, &c.CreationTimestamp), "adopt, delete",
			c.Annotations[v1.HubAppUIDAnnotation], "")
	}
	for i := range members {
		m := &members[i]
		hub, _, _ := strings.Cut(m.Status.OtherHub, "/")
		ready := Readiness(m)
		addRow(t, m, "", m.Name, ready.Reason, "hub "+cmp.Or(hub, "unknown"), "take-over", m.Status.OtherHub, ready.Message)
	}
	return t
}

// reasonOrphan stands for the reason of a copy that no EcommerceApp owns: there is no status to have it.
const reasonOrphan = "Orphan"

// Waits reports whether something in a cluster waits for the user.
func Waits(c *v1.ClusterStatus) bool {
	switch c.Reason {
	case v1.ReasonNewerInMember, v1.ReasonDeletedInMember, v1.ReasonNewerElsewhere:
		return true
	default:
		return c.UnknownOrigin != ""
	}
}

func found(app *v1.EcommerceApp, c *v1.ClusterStatus) string {
	uid, generation, _ := strings.Cut(c.UnknownOrigin, "/")
	_, _, deleted := v1.ParseDeletionOrigin(c.UnknownOrigin)
	_, by, left := v1.ParseLeavingOrigin(c.UnknownOrigin)
	switch {
	case uid == "":
		return ""
	case deleted:
		return "its deletion"
	case left:
		return fmt.Sprintf("left by generation %d, the hub has %d", by, app.Generation)
	case uid == string(app.UID):
		return fmt.Sprintf("generation %s, the hub has %d", generation, app.Generation)
	default:
		return "another application"
	}
}

// settle returns what the user can do about a cluster.
func settle(c *v1.ClusterStatus) string {
	_, _, deleted := v1.ParseDeletionOrigin(c.UnknownOrigin)
	_, _, left := v1.ParseLeavingOrigin(c.UnknownOrigin)
	switch {
	case c.UnknownOrigin == "":
		return "" // The line of the other clusters has it.
	case left, c.Reason == v1.ReasonNewerElsewhere:
		return "placement, overwrite"
	case deleted:
		return "delete, overwrite"
	default:
		return "import, overwrite"
	}
}
