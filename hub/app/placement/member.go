package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// hashLength is the length of a hash of a placement, in bytes.
const hashLength = 8

// ClusterOf returns what a placement considers of a member. A taint that the status does not have yet
// was added now: its AddedTime is zero only with the effect NoSchedule.
func ClusterOf(m *v1.MemberCluster, now time.Time) Cluster {
	m = m.Located(nil)
	ready := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady)
	c := Cluster{
		Name: m.Name, Labels: m.Labels, Region: m.Status.Region, Provider: m.Status.Provider, Zones: m.Status.Zones,
		Ready:    meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady),
		Detached: m.DeletionTimestamp != nil || ready != nil && ready.Reason == v1.ReasonSecretNotFound,
		Paused:   m.IsPaused(), Scheduling: m.Spec.Scheduling, Unobserved: m.Status.ClusterUID == "",
		Allocatable: m.Status.Allocatable, Requested: m.Status.Requested,
	}
	for _, taint := range m.Spec.Taints {
		next := Taint{Taint: taint}
		if taint.Effect == v1.TaintNoExecute {
			next.AddedTime = now
			for _, known := range m.Status.Taints {
				if known.Key == taint.Key && known.Value == taint.Value {
					next.AddedTime = known.AddedTime.Time
				}
			}
		}
		c.Taints = append(c.Taints, next)
	}
	return c
}

// located returns clusters with the regions and providers that an application has recorded of those that it
// runs in, where they are not known otherwise. It does not change the clusters that it is given.
func located(app *v1.EcommerceApp, clusters []Cluster) []Cluster {
	all := clusters
	for i := range clusters {
		c := &clusters[i]
		if c.Region != "" && c.Provider != "" {
			continue
		}
		entry := app.Status.EntryOf(c.Name)
		if entry == nil {
			continue
		}
		if &all[0] == &clusters[0] {
			all = slices.Clone(clusters)
		}
		all[i].Region, all[i].Provider = cmp.Or(c.Region, entry.Region), cmp.Or(c.Provider, entry.Provider)
	}
	return all
}

// RequestOf returns the request for an application, as its status says where it runs.
func RequestOf(app *v1.EcommerceApp, clusters []Cluster, now time.Time) Request {
	r := Request{
		Placement: app.Spec.Placement, Clusters: located(app, clusters), Now: now,
		HasDatabase: app.Spec.Database != nil, Division: DivisionOf(app),
	}
	r.Edited, r.SelectionEdited = edited(app)
	for name := range strings.SplitSeq(app.Annotations[v1.MoveEmptyAnnotation], ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.MoveEmpty = append(r.MoveEmpty, name)
		}
	}
	for i := range app.Status.Clusters {
		if entry := &app.Status.Clusters[i]; entry.Phase != v1.PhaseDeleting {
			r.Current = append(r.Current, CurrentOf(entry))
		}
	}
	return r
}

// CurrentOf returns what the status says of a cluster. It does not count the pods of the backend: a
// backend that is ready has its share.
func CurrentOf(entry *v1.ClusterStatus) Current {
	c := Current{Name: entry.Name, Serving: entry.Available, Idle: !entry.Available && !entry.Stale, Stalled: entry.Stalled, Frontend: entry.ReadyReplicas}
	for i := range entry.Components {
		if b := &entry.Components[i]; b.Name == "backend" && b.Ready && entry.Share != nil && entry.Share.Backend != nil {
			c.Backend = *entry.Share.Backend
		}
	}
	return c
}

// edited reports whether the placement was edited since the last decision, and whether the edit changed
// which clusters match. A status without a decision was lost, or there is none yet: nothing is known of
// an edit. One by an earlier release has no hash.
func edited(app *v1.EcommerceApp) (edited, selected bool) {
	last := app.Status.Placement
	switch {
	case last == nil:
		return false, false
	case last.SpecHash == "":
		edited = last.DecidedFor != app.Generation
		return edited, edited
	}
	now := Hash(app.Spec.Placement)
	criteria, _, _ := strings.Cut(now, "-")
	return last.SpecHash != now, !strings.HasPrefix(last.SpecHash, criteria+"-")
}

// Hash returns a hash of what selects clusters, a dash, and one of the rest of a placement. They must stay
// the same in later releases, for which each application would be edited otherwise.
func Hash(p v1.Placement) string {
	criteria := v1.Placement{ClusterCriteria: p.ClusterCriteria}
	p.ClusterCriteria = v1.ClusterCriteria{}
	return sum(criteria) + "-" + sum(p)
}

func sum(p v1.Placement) string {
	raw, err := json.Marshal(p)
	if err != nil {
		return "" // It was decoded from JSON.
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:hashLength])
}
