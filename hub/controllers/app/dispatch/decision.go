package dispatch

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// decision is everything of an application on the hub that decides about its copies.
type decision struct {
	app                    types.UID
	generation             int64
	deleting               bool
	reconcileAt, restarted string
	// accepted is the annotation by which the user settles what a member has.
	accepted string
	// unknown are the origins that wait for the user, by member.
	unknown string
	// members are the clusters in the inventory, by name.
	members map[string]memberDecision
}

// memberDecision is the part of a decision that concerns one cluster.
type memberDecision struct {
	deleting bool
	// databaseVersion differs from the spec's while an upgrade waits for a backup.
	databaseVersion string
	// frontend and backend are the cluster's share of the replicas, if they are divided.
	frontend, backend int32
}

func decisionOf(app *v1.EcommerceApp) decision {
	d := decision{
		app: app.UID, generation: app.Generation, deleting: app.Ending(),
		reconcileAt: app.Annotations[v1.ReconcileAtAnnotation], restarted: app.Annotations[v1.RestartedAtAnnotation],
		accepted: app.Annotations[v1.RecoverAnnotation],
		members:  make(map[string]memberDecision, len(app.Status.Clusters)),
	}
	for i := range app.Status.Clusters {
		entry := &app.Status.Clusters[i]
		m := memberDecision{deleting: entry.Phase == v1.PhaseDeleting}
		if app.Spec.Database != nil {
			m.databaseVersion = app.DatabaseVersion(entry.Name)
		}
		if entry.Share != nil {
			m.frontend, m.backend = ptr.Deref(entry.Share.Frontend, 0), ptr.Deref(entry.Share.Backend, 0)
		}
		d.members[entry.Name] = m
		if entry.UnknownOrigin != "" {
			d.unknown += entry.Name + "=" + entry.UnknownOrigin + ","
		}
	}
	return d
}

// concerned returns the clusters whose copies a decision changes, sorted. A cluster that
// left the inventory is one of them: its queue forgets the application.
func (d decision) concerned(last decision) []string {
	if d.app != last.app {
		last = decision{}
	}
	all := d.generation != last.generation || d.deleting != last.deleting ||
		d.reconcileAt != last.reconcileAt || d.restarted != last.restarted ||
		d.accepted != last.accepted || d.unknown != last.unknown
	names := map[string]bool{}
	for name, next := range d.members {
		if before, was := last.members[name]; all || !was || before != next {
			names[name] = true
		}
	}
	for name := range last.members {
		if _, is := d.members[name]; !is {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// decisions are the last decision about each application. They are safe for concurrent use.
type decisions struct {
	mu    sync.Mutex
	known map[types.NamespacedName]decision
}

func newDecisions() *decisions { return &decisions{known: map[types.NamespacedName]decision{}} }

// replace records a decision and returns the clusters that it concerns.
func (d *decisions) replace(app *v1.EcommerceApp) []string {
	next := decisionOf(app)
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.known[keyOf(app)]
	d.known[keyOf(app)] = next
	return next.concerned(last)
}

func (d *decisions) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, key)
}
