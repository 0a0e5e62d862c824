package dataloss

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// State represents what is known of a database.
type State struct {
	// Mark is the last mark; nil if there is none.
	Mark *database.Mark
	// Known is true if another place says that the database was created: the hub, or the status.
	Known bool
	// Claim is the claim of the primary, and Pod its pod; each may be nil.
	Claim *corev1.PersistentVolumeClaim
	Pod   *corev1.Pod
	// WasLost is true if the data was lost when last observed.
	WasLost bool
	// StartEmpty is the token of a user who consents to an empty database. Usually empty.
	StartEmpty string
	// Loading is the Restore that loads a dump, and Stopped is true if nothing runs that uses the database.
	// Restoring is true while a Restore replaces volumes, and Loaded if the last one brought data.
	Loading                    string
	Stopped, Restoring, Loaded bool
}

// Next returns the mark that the database is to have, and whether its data is lost.
func Next(s State) (mark database.Mark, lost bool) {
	if s.Mark == nil {
		mark = database.Mark{Created: s.Known || isBound(s.Claim) || s.serves(), StartEmpty: s.StartEmpty}
	} else {
		mark = *s.Mark
		mark.Created = mark.Created || s.serves() || s.Known && mark.Consent == ""
	}
	if mark.Created && mark.Consent == database.ConsentStartEmpty {
		mark.Consent = ""
	}
	if mark.Consent == database.ConsentLoad && s.Loaded && s.Loading == "" && !s.Restoring {
		mark.Created, mark.Consent, mark.Load = true, "", ""
	}
	lost = mark.Consent == database.ConsentLoad || mark.Created && s.lost()
	return s.consent(mark, lost)
}

// consent returns the mark with the new consents. Each consent counts once: a token that exists before the
// data is lost would otherwise consent to a later loss. A load consents when nothing can write to
// the empty database before it.
func (s State) consent(mark database.Mark, lost bool) (database.Mark, bool) {
	if lost && s.Stopped && s.Loading != "" && s.Loading != mark.Load {
		mark.Created = s.hasData()
		mark.Consent, mark.Load = database.ConsentLoad, s.Loading
	}
	if s.StartEmpty == "" || s.StartEmpty == mark.StartEmpty {
		return mark, lost
	}
	mark.StartEmpty = s.StartEmpty
	if !lost || s.Loading != "" || s.Restoring {
		return mark, lost
	}
	mark.Created, mark.Consent, mark.Load = s.hasData(), "", ""
	if !mark.Created {
		mark.Consent = database.ConsentStartEmpty
	}
	return mark, false
}

// lost reports whether the volume of a database that was created has no data. It is not known while a
// Restore replaces it.
func (s State) lost() bool {
	if s.hasData() {
		return false
	}
	return s.WasLost || !s.Restoring && (isEmpty(s.Claim) || component.PrepareExit(s.Pod) == database.ExitLost)
}

// hasData reports whether the primary has found data in its volume, or made it.
func (s State) hasData() bool { return s.serves() || component.PrepareExit(s.Pod) == 0 }

// serves reports whether the primary is ready.
func (s State) serves() bool {
	return s.Pod != nil && s.Pod.DeletionTimestamp == nil && component.IsReady(s.Pod)
}

// isBound reports whether a claim has had a volume.
func isBound(claim *corev1.PersistentVolumeClaim) bool {
	return claim != nil && (claim.Spec.VolumeName != "" || claim.Status.Phase == corev1.ClaimLost)
}

// isEmpty reports whether a claim has no volume, and will get none with data.
func isEmpty(claim *corev1.PersistentVolumeClaim) bool {
	if claim == nil || claim.Status.Phase == corev1.ClaimLost {
		return true
	}
	return claim.Spec.VolumeName == "" && claim.Spec.DataSource == nil && claim.Spec.DataSourceRef == nil
}
