package copies

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// decision is everything of an application on the hub that decides about its copies.
type decision struct {
	app        types.UID
	generation int64
	deleting   bool
	// startEmpty is the token that consents to an empty database.
	reconcileAt, restarted, startEmpty string
	// accepted is the annotation by which the user settles what a member has.
	accepted string
	// sources is the signature of what the application propagates.
	sources string
	// unknown are the origins that wait for the user, by member.
	unknown string
	// members are the clusters in the inventory, by name.
	members map[string]memberDecision
}

// memberDecision is the part of a decision that concerns one cluster.
type memberDecision struct {
	deleting bool
	// database differs from the spec's while an upgrade waits for a backup.
	database v1.DatabaseServer
	// revision is the one that the cluster is to have; 0 without a rollout.
	revision int64
	// frontend and backend are the cluster's share of the replicas; undivided if they are not divided.
	frontend, backend int32
}

// undivided is not a number of replicas: a share may be 0.
const undivided = -1

func decisionOf(app *v1.EcommerceApp) decision {
	d := decision{
		app: app.UID, generation: app.Generation, deleting: app.Ending(),
		reconcileAt: app.Annotations[v1.ReconcileAtAnnotation], restarted: app.Annotations[v1.RestartedAtAnnotation],
		startEmpty: app.Annotations[v1.StartEmptyAnnotation],
		accepted:   app.Annotations[v1.RecoverAnnotation],
		members:    make(map[string]memberDecision, len(app.Status.Clusters)),
	}
	for i := range app.Status.Clusters {
		entry := &app.Status.Clusters[i]
		m := memberDecision{deleting: entry.Phase == v1.PhaseDeleting, revision: entry.Revision}
		if app.Spec.Database != nil {
			m.database = app.DatabaseServer(entry.Name, rollout.RevisionSpec(app).Database.Server(), v1.CopiedServer{})
		}
		share := ptr.Deref(entry.Share, v1.ReplicaShare{})
		m.frontend, m.backend = ptr.Deref(share.Frontend, undivided), ptr.Deref(share.Backend, undivided)
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
		d.reconcileAt != last.reconcileAt || d.restarted != last.restarted || d.startEmpty != last.startEmpty ||
		d.accepted != last.accepted || d.sources != last.sources || d.unknown != last.unknown
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

// keepsMembers reports whether the decision about an edited application changes nothing for any member
// but the spec that it has, so that the queues may work before the status that says so is stored. With
// a rollout they also need its state.
func keepsMembers(app *v1.EcommerceApp, next v1.EcommerceAppStatus) bool {
	if app.Generation == app.Status.ObservedGeneration || len(app.Status.Clusters) == 0 || app.Status.Rollout != nil || next.Rollout != nil {
		return false
	}
	decided := *app
	decided.Status = next
	before, after := decisionOf(app), decisionOf(&decided)
	return maps.Equal(before.members, after.members) && before.unknown == after.unknown
}

// decisions are the last decision about each application. They are safe for concurrent use.
type decisions struct {
	mu    sync.Mutex
	known map[types.NamespacedName]decision
}

func newDecisions() *decisions { return &decisions{known: map[types.NamespacedName]decision{}} }

// replace records a decision and returns the clusters that it concerns. Sources is the signature of
// what the application propagates.
func (d *decisions) replace(app *v1.EcommerceApp, sources string) []string {
	next := decisionOf(app)
	next.sources = sources
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
