package backup

import (
	"context"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/hub/controllers/backup/dump"
)

// dumpable tells whether a dump can be made at all: with the member's CronJob.
func dumpable(b *v1.Backup, app *v1.EcommerceApp, member *v1.MemberCluster) verdict.Verdict {
	policy := app.Spec.Database.Backup
	switch {
	case len(b.Spec.CopyToRegions) > 0:
		return verdict.Fail(v1.ReasonInvalidSpec, "dumps stay in their cluster: make a Backup without copyToRegions")
	case !policy.Enabled:
		return verdict.Fail(v1.ReasonCronJobNotFound, "EcommerceApp %q has no CronJob to dump with: set spec.database.backup.enabled", app.Name)
	case csi.BySnapshots(policy.Method, member):
		return verdict.Fail(v1.ReasonCronJobNotFound, "databases in %s are backed up by snapshots: make a Backup of the method Snapshot", member.Name)
	default:
		return verdict.Verdict{}
	}
}

// dump has the dump made in the member, and looks how far it is.
func (w *work) dump(ctx context.Context) verdict.Verdict {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	var v verdict.Verdict
	if in, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterName)); err != nil {
		v = w.memberTrouble(err)
	} else {
		v = dump.Run{Backup: w.backup, Reader: in.GetAPIReader(), Writer: in.GetClient(), Now: w.now}.Advance(ctx)
	}
	if w.backup.Status.Dump == nil {
		return w.untilCut(v)
	}
	return w.untilReady(v)
}
