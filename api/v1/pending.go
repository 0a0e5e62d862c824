package v1

import (
	"cmp"
	"slices"
)

// MaxPendingChanges is the number of changes that a status lists.
const MaxPendingChanges = 100

// SetPendingChanges sets the changes that are held back, sorted, and their number. The status lists
// the first MaxPendingChanges.
func (s *EcommerceAppStatus) SetPendingChanges(all []PendingChange) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b PendingChange) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Action, b.Action))
	})
	s.PendingChangeCount = int32(min(len(all), 1<<30)) //nolint:gosec // It is bounded.
	s.PendingChanges = all[:min(len(all), MaxPendingChanges)]
}
