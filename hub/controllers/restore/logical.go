package restore

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

// dumpTimeout bounds what one step does about a dump: it asks member, bucket and hub.
const dumpTimeout = time.Minute

// isDump reports whether a dump is restored, and no snapshot.
func (w *work) isDump() bool {
	return w.restore.Status.Dump != nil || w.backup != nil && w.backup.Spec.Method == v1.BackupDump
}

// loading reports whether a Job may have begun to load a dump.
func (w *work) loading() bool {
	return w.restore.Status.Dump != nil && w.restore.Status.Dump.Started
}

// loadDump loads a dump into the application's database.
func (w *work) loadDump(ctx context.Context) (stepresult.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.shop().advance(ctx)
}

// chooseDump chooses where a dump is read from that is verified, and stores it, once.
func (w *work) chooseDump(ctx context.Context) (stepresult.Result, error) {
	if w.restore.Status.Dump != nil {
		return stepresult.Result{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	if v := w.verificationRun().choose(ctx); v.Stops() {
		return v, nil
	}
	return stepresult.Result{}, w.save(ctx)
}

// loadVerification loads a dump into a database that it is verified with.
func (w *work) loadVerification(ctx context.Context) (stepresult.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.verificationRun().load(ctx)
}

func (w *work) verificationRun() dumpLoad {
	run := w.run()
	run.into, run.isReady = w.verification().spec(), w.startVerification
	return run
}

// run returns a dumpLoad with the fields that are the same for the application's database and
// for a database that verifies a backup.
func (w *work) run() dumpLoad {
	return dumpLoad{
		restore: w.restore, backup: w.backup, clusterName: w.member.Name,
		reader: w.targetFacts.cluster.GetAPIReader(), writer: w.targetFacts.cluster.GetClient(),
		bucket: w.options.Accounts.Bucket, image: w.options.SpokeImage, save: w.save, now: w.now,
	}
}

// shop is the way into the application's database.
func (w *work) shop() shopLoad {
	s := shopLoad{dumpLoad: w.run(), copied: w.targetFacts.copy}
	s.overwrite, s.here = w.restore.Spec.Overwrite, w.member.Name == w.backup.Spec.ClusterRef.Name
	s.into.Owner = manifest.Owner{Name: w.backup.Spec.AppRef.Name, Namespace: w.restore.Namespace}
	if s.copied != nil {
		s.owners = []metav1.OwnerReference{{
			APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: s.copied.Name, UID: s.copied.UID,
		}}
	}
	return s
}

// unload ends a Restore of a dump, and lets go what uses the database.
func (w *work) unload(ctx context.Context) stepresult.Result {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.shop().undo(ctx)
}

// unloadVerification ends the Job that loads a dump to verify it, and takes away what it was
// loaded with.
func (w *work) unloadVerification(ctx context.Context) stepresult.Result {
	if !w.isDump() {
		return stepresult.Result{}
	}
	run := w.run()
	run.into, run.note = w.verification().spec(), w.note
	return run.tidy(ctx)
}

// note writes down the volume of a claim that is about to be deleted, so that it is seen
// that the driver deletes it.
func (w *work) note(ctx context.Context, claim, volume string) error {
	all := &w.restore.Status.Volumes
	if slices.ContainsFunc(*all, func(v v1.RestoredVolume) bool { return v.Claim == claim }) {
		return nil
	}
	*all = append(*all, v1.RestoredVolume{Claim: claim, PersistentVolume: volume})
	return w.save(ctx)
}
