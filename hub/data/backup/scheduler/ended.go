package scheduler

import (
	"cmp"
	"maps"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/retention"
)

// endedGroup identifies Backups that no more are made of: of one application, which may be a former one of its
// name, in one cluster by one method.
type endedGroup struct {
	app, cluster string
	method       v1.BackupMethod
}

func (g endedGroup) compare(other endedGroup) int {
	return cmp.Or(cmp.Compare(g.app, other.app), cmp.Compare(g.cluster, other.cluster), cmp.Compare(g.method, other.method))
}

// pruneEnded decides which Backups are deleted that no more are made of. Nothing of an application that the hub may
// know less of than a cluster is.
func (in input) pruneEnded(decision *Decision) {
	if in.safeMode || in.app != nil && in.newerIn() != "" {
		return
	}
	groups := map[endedGroup][]*v1.Backup{}
	for i := range in.backups {
		if b := &in.backups[i]; in.hasEnded(b) {
			group := endedGroup{app: b.Status.AppUID, cluster: b.Spec.ClusterRef.Name, method: methodOf(b)}
			groups[group] = append(groups[group], b)
		}
	}
	for _, group := range slices.SortedFunc(maps.Keys(groups), endedGroup.compare) {
		in.pruneGroup(decision, group, groups[group])
	}
}

// hasEnded reports whether no more Backups are made of what one is of: its application is gone, ends or has no backups
// any more, or left the cluster. A status that lost the clusters of an application does not mean that it left them.
func (in input) hasEnded(b *v1.Backup) bool {
	switch {
	case b.Status.AppUID == "":
		return false // It has not begun.
	case !in.isOf(b.Status.AppUID):
		return true
	case in.app.InventoryLost():
		return false
	case in.app.Ending() || !enabled(in.app):
		return true
	}
	i := slices.IndexFunc(in.app.Status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == b.Spec.ClusterRef.Name })
	return i < 0 || in.app.Status.Clusters[i].Phase == v1.PhaseDeleting
}

// methodOf returns the method of a Backup, for the empty one its default.
func methodOf(b *v1.Backup) v1.BackupMethod { return cmp.Or(b.Spec.Method, v1.BackupSnapshot) }

// isOf reports whether the application exists and has a UID.
func (in input) isOf(uid string) bool { return in.app != nil && string(in.app.UID) == uid }

// pruneGroup decides which Backups of a group are deleted.
func (in input) pruneGroup(decision *Decision, group endedGroup, mine []*v1.Backup) {
	policy, known := in.endedPolicy(group, mine)
	member := in.members[group.cluster]
	switch {
	case !known || member != nil && member.IsPaused():
		return
	case in.isOf(group.app) && in.app.IsDatabaseLost(group.cluster):
		decision.unmark(mine, nil) // What is lost is in one of these backups.
		return
	}
	pruned := retention.Prune(in.now, in.catalog(mine, placesOfAll(mine)), policy)
	if compared, placed := in.compared[group.cluster]; in.isOf(group.app) && placed && !compared {
		return // The cluster may have a newer state of the application.
	}
	decision.Delete = append(decision.Delete, pruned.Delete...)
	decision.unmark(mine, pruned.Delete)
}

// endedPolicy returns the retention of a group, if it is known: of its application, of the newest Backup that has it, or
// of the application that has the name now.
func (in input) endedPolicy(group endedGroup, mine []*v1.Backup) (policy retention.Policy, known bool) {
	var spec *v1.Retention
	if in.app != nil && in.app.Spec.Database != nil {
		spec = &in.app.Spec.Database.Backup.Retention
	}
	if !in.isOf(group.app) || spec == nil {
		if last := newest(mine, func(b *v1.Backup) bool { return b.Status.Retention != nil }); last != nil {
			spec = last.Status.Retention
		}
	}
	if spec == nil {
		return retention.Policy{}, false
	}
	policy = retention.PolicyOf(*spec)
	policy.Ended = true
	return policy, true
}

// placesOfAll returns where any of some Backups is, sorted: nothing more will be made in any of these places.
func placesOfAll(mine []*v1.Backup) []string {
	found := map[string]bool{}
	for _, b := range mine {
		for _, place := range placesOf(b) {
			found[place] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
