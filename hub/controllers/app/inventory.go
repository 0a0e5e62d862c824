package app

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/hub/controllers/app/dispatch"
)

// inventory is the recovered list of clusters of an application whose status was lost.
type inventory struct {
	// entries are the clusters that hold a copy, or may hold one.
	entries []v1.ClusterStatus
	// uncertain are the clusters among them whose copies could not be checked.
	uncertain map[string]bool
	// pending is true while members have yet to answer, or to be found unreachable.
	pending bool
}

// recoverInventory looks for copies of an application in all members. A member that
// cannot be checked may hold one, so it gets an entry, which keeps the finalizer in
// place.
func (r *Reconciler) recoverInventory(app *v1.EcommerceApp, members []v1.MemberCluster) inventory {
	found := inventory{entries: slices.Clone(app.Status.Clusters), uncertain: map[string]bool{}}
	for i := range members {
		m := &members[i]
		if isDetached(m) || dispatch.EntryOf(app, m.Name) != nil {
			continue
		}
		queue := r.dispatcher.Get(m.Name)
		if queue == nil && readyOf(m).Status == metav1.ConditionTrue {
			found.pending = true
			continue
		}
		presence := dispatch.Uncertain
		if queue != nil {
			presence = queue.Find(app)
		}
		found.add(m.Name, presence)
	}
	return found
}

func (i *inventory) add(member string, presence dispatch.Presence) {
	entry := v1.ClusterStatus{Name: member}
	switch presence {
	case dispatch.NotLooked:
		i.pending = true
		return
	case dispatch.Absent:
		return
	case dispatch.Terminating:
		entry.Phase = v1.PhaseDeleting
	case dispatch.Uncertain:
		i.uncertain[member] = true
	case dispatch.Present:
	}
	i.entries = append(i.entries, entry)
}

// undecided returns the clusters that must answer before the placement can be decided,
// sorted. There are some if spec.placement.maxClusters would keep a cluster that may hold
// a copy in place of one that holds, or may hold, another: the wrong choice deletes a
// running copy.
func undecided(in aggregate.Input, uncertain map[string]bool) []string {
	if in.Deleting || !slices.ContainsFunc(in.Chosen, func(name string) bool { return uncertain[name] }) {
		return nil
	}
	dropped := slices.ContainsFunc(in.Rejected, func(r v1.RejectedCluster) bool {
		return r.Reason == v1.ReasonMaxClustersReached && slices.ContainsFunc(in.Previous.Clusters, func(c v1.ClusterStatus) bool {
			return c.Name == r.Name && c.Phase != v1.PhaseDeleting
		})
	})
	if !dropped {
		return nil
	}
	var names []string
	for name := range uncertain {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unobserved returns the clusters that hold a copy, or may hold one, and whose region and
// provider are not known although the placement depends on them, sorted: their status was
// lost too. Rejecting them deletes a running copy, and choosing them may create one.
func unobserved(in aggregate.Input, spec v1.Placement, members []v1.MemberCluster) []string {
	if in.Deleting || len(spec.Regions)+len(spec.Providers) == 0 && spec.ClusterSelector == nil {
		return nil
	}
	var names []string
	for i := range members {
		m := &members[i]
		held := slices.ContainsFunc(in.Previous.Clusters, func(c v1.ClusterStatus) bool {
			return c.Name == m.Name && c.Phase != v1.PhaseDeleting
		})
		named := len(spec.ClusterNames) == 0 || slices.Contains(spec.ClusterNames, m.Name)
		if held && named && !isDetached(m) && (m.Status.ClusterUID == "" || m.Status.Provider == "") {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// unplaced records the applications that got their finalizer from this process and have
// no status yet. No copy was ever written for them, so an unreachable member must not
// block them. It is safe for concurrent use.
type unplaced struct {
	mu   sync.Mutex
	uids map[types.NamespacedName]types.UID
}

func newUnplaced() *unplaced { return &unplaced{uids: map[types.NamespacedName]types.UID{}} }

func (u *unplaced) record(app *v1.EcommerceApp) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if app.InventoryLost() {
		u.uids[keyOf(app)] = app.UID
	}
}

func (u *unplaced) has(app *v1.EcommerceApp) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.uids[keyOf(app)] == app.UID
}

func (u *unplaced) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.uids, key)
}
