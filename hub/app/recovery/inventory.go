package recovery

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Presence is the result of looking for an application's copy in a member.
type Presence int

const (
	// NotLooked means that no lookup has ended yet.
	NotLooked Presence = iota
	// Uncertain means that the API server did not answer, or refused to.
	Uncertain
	// Absent means that the API server has no copy.
	Absent
	// Present means that there is a copy.
	Present
	// Terminating means that there is a copy that is being deleted.
	Terminating
)

// Inventory lists the clusters of an application whose status was lost, while they are looked for.
type Inventory struct {
	// Entries are the clusters that hold a copy, or may hold one.
	Entries []v1.ClusterStatus
	// Pending is true while members have yet to answer, or to be found unreachable.
	Pending bool

	recorded   []string
	isRecorded bool
	// uncertain are the clusters with an entry whose copies could not be checked, and unobserved the members of which
	// it is not known where they are.
	uncertain, unobserved map[string]bool
}

// InventoryOf returns the inventory that the status of an application still has.
func InventoryOf(app *v1.EcommerceApp) *Inventory {
	i := &Inventory{Entries: slices.Clone(app.Status.Clusters), uncertain: map[string]bool{}, unobserved: map[string]bool{}}
	i.recorded, i.isRecorded = app.RecordedClusters()
	return i
}

// Candidate holds what is known of a member of the fleet without a request.
type Candidate struct {
	Name string
	// Connected is whether the member is, and Cached whether its cache has a copy then.
	Connected, Cached bool
	Ready             metav1.ConditionStatus
	// Observed is true if it is known which cluster it is and where.
	Observed bool
}

// Asks reports whether a member is to be asked for a copy: those that are recorded in the application's metadata are, or
// all if none are, and those that may hold one all the same. A member that cannot be asked may hold one, so it gets an
// entry, which keeps the finalizer in place. One that the hub has not connected yet may too, though it is not recorded:
// the record may be that of an older backup.
func (i *Inventory) Asks(c Candidate) bool {
	i.unobserved[c.Name] = !c.Observed
	listed := !i.isRecorded || slices.Contains(i.recorded, c.Name)
	switch {
	case i.entry(c.Name) != nil:
		return false
	case c.Connected:
		return listed || c.Cached
	case c.Ready == metav1.ConditionTrue:
		i.Pending = true
	case listed || c.Ready != metav1.ConditionFalse:
		i.Add(c.Name, Uncertain)
	}
	return false
}

// Add adds what a member answered.
func (i *Inventory) Add(member string, presence Presence) {
	entry := v1.ClusterStatus{Name: member}
	switch presence {
	case NotLooked:
		i.Pending = true
		return
	case Absent:
		return
	case Terminating:
		entry.Phase = v1.PhaseDeleting
	case Uncertain:
		i.uncertain[member] = true
	case Present:
	}
	i.Entries = append(i.Entries, entry)
}

// Unanswered returns the clusters that must answer before the placement can be decided, sorted: spec.placement.maxClusters
// would keep a cluster that may hold a copy in place of one of excess that holds, or may hold, another, or a placement by
// place would choose among clusters of which that was lost too. The wrong choice deletes a running copy.
func (i *Inventory) Unanswered(spec v1.Placement, chosen, excess []string) []string {
	keeps := func(name string) bool { return i.uncertain[name] }
	drops := func(name string) bool {
		entry := i.entry(name)
		return entry != nil && entry.Phase != v1.PhaseDeleting
	}
	if slices.ContainsFunc(chosen, keeps) && slices.ContainsFunc(excess, drops) {
		return slices.Sorted(maps.Keys(i.uncertain))
	}
	if len(spec.Regions)+len(spec.Providers)+len(spec.Spread) == 0 && spec.ClusterSelector == nil {
		return nil
	}
	var names []string
	for _, entry := range i.Entries {
		named := len(spec.ClusterNames) == 0 || slices.Contains(spec.ClusterNames, entry.Name)
		if named && entry.Phase != v1.PhaseDeleting && i.unobserved[entry.Name] {
			names = append(names, entry.Name)
		}
	}
	slices.Sort(names)
	return names
}

// entry returns the entry of a cluster; nil if it has none.
func (i *Inventory) entry(name string) *v1.ClusterStatus {
	return (&v1.EcommerceAppStatus{Clusters: i.Entries}).EntryOf(name)
}
