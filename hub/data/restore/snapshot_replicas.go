package restore

import (
	"context"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// maxReplicaVolumes is the maximum of status.replicaVolumes.
const maxReplicaVolumes = 32

// mayReplace reports whether the database may be given other volumes: it has none, its replicas included, or the user says so.
func (w *work) mayReplace(ctx context.Context) steps.Result {
	if w.restore.Spec.Verify || w.restore.Spec.Overwrite {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for _, pvc := range w.targetFacts.pvcs() {
		return w.inUse(pvc.Name)
	}
	for _, name := range render.OtherDatabaseClaims(w.backup.Spec.AppRef.Name) {
		live, err := w.readClaim(ctx, w.reader(), name)
		if err != nil {
			return steps.FromMember(err, w.member.Name, "read claims and volumes")
		}
		if live != nil {
			return w.inUse(name)
		}
	}
	return steps.Result{}
}

// inUse returns the result for a claim that must not be replaced.
func (w *work) inUse(claim string) steps.Result {
	return steps.Fail(v1.ReasonVolumeInUse, "the database has the claim %s in %s: give spec.overwrite: true to replace the data of the database; its volumes are kept",
		claim, w.member.Name)
}

// retireAll retires the claims that have other volumes than the restored ones, and those of replicas. Both are recorded in one
// pass, so that the primary's can be put back from the beginning.
func (w *work) retireAll(ctx context.Context) steps.Result {
	replicas, primary := w.retireReplicas(ctx), w.retireClaims(ctx)
	if replicas.Stops() {
		return replicas
	}
	return primary
}

// retireReplicas deletes the claims of replicas, running or former: a replica would go on with the data that it has, which is not
// that of the primary any more, and MySQL would not notice. It copies the primary's data again. The volumes stay, and the status
// names them.
func (w *work) retireReplicas(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for _, name := range render.OtherDatabaseClaims(w.backup.Spec.AppRef.Name) {
		live, err := w.readClaim(ctx, w.reader(), name)
		if err == nil && live == nil {
			continue
		}
		if err == nil {
			w.recordReplica(live)
			err = w.retire(ctx, live)
		}
		if err != nil {
			return w.memberError(err)
		}
		waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be deleted", name, w.member.Name)
	}
	return waiting
}

// recordReplica records the volume of a replica whose claim is about to be deleted, unless the status is full.
func (w *work) recordReplica(live *claim) {
	all := &w.restore.Status.ReplicaVolumes
	if live.pv != nil && !slices.Contains(*all, live.pv.Name) && len(*all) < maxReplicaVolumes {
		*all = append(*all, live.pv.Name)
	}
}
