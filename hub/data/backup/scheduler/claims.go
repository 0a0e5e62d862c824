package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// isOwn reports whether a Backup was made by this hub.
func (in input) isOwn(b *v1.Backup) bool { return cmp.Or(b.Status.HubUID, in.hub) == in.hub }

// foreign returns why a Backup is not this hub's to delete, or an empty string: another one claims it, or made it and
// was not taken over.
func (in input) foreign(b *v1.Backup) string {
	hub := cmp.Or(b.Status.HubUID, in.hub)
	other, claimed := in.claimants(b.Status.Account, hub)
	switch {
	case other != "":
		return "claimed by the hub " + other
	case hub != in.hub && !claimed:
		return "of the hub " + hub + ", which was not taken over"
	default:
		return ""
	}
}

// claimants returns another hub that claims the backups of a hub in an account, empty if there is none, and whether this
// one does.
func (in input) claimants(account, hub string) (other string, claimed bool) {
	a := in.accounts[account]
	if a == nil {
		return "", false
	}
	for _, claimant := range a.ClaimantsOf(hub) {
		if claimant == in.hub {
			claimed = true
		} else {
			other = cmp.Or(other, claimant)
		}
	}
	return other, claimed
}

// takenOver returns a problem for each account in which another hub claims the backups of this one.
func (in input) takenOver() []problem {
	var found []problem
	for _, account := range slices.Sorted(maps.Keys(in.accounts)) {
		if other, _ := in.claimants(account, in.hub); other != "" {
			found = append(found, problem{v1.ReasonPruningHeld, fmt.Sprintf("old backups in the CloudAccount %q are not deleted: the hub %s has taken them over", account, other)})
		}
	}
	return found
}
