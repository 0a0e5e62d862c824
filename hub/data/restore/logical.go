package restore

import (
	"context"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// dumpTimeout bounds one step of a load: its requests to the member, the bucket and the hub.
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
func (w *work) loadDump(ctx context.Context) (steps.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.shop().proceed(ctx)
}

// chooseDump chooses where a dump is read from that is verified, and stores it, once.
func (w *work) chooseDump(ctx context.Context) (steps.Result, error) {
	if w.restore.Status.Dump != nil {
		return steps.Result{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	if result := w.verificationLoad().chooseSource(ctx); result.Stops() {
		return result, nil
	}
	return steps.Result{}, w.save(ctx)
}

// loadVerification loads a dump into a database that it is verified with.
func (w *work) loadVerification(ctx context.Context) (steps.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.verificationLoad().load(ctx)
}

// verificationLoad returns the way of a dump into the database that it is verified with, and
// shop that into the application's.
func (w *work) verificationLoad() dumpLoad {
	return dumpLoad{work: w, into: w.verification(), isReady: func(ctx context.Context) steps.Result {
		if err := w.makeNamespace(ctx); err != nil {
			return steps.FromMember(err, w.member.Name, "create namespaces")
		}
		return steps.Result{}
	}}
}

func (w *work) shop() shopLoad {
	owner := objectparts.Owner{Name: w.backup.Spec.AppRef.Name, Namespace: w.restore.Namespace}
	return shopLoad{dumpLoad{work: w, into: database.Spec{Owner: owner}}}
}

// cancelLoad ends a Restore of a dump, and starts what uses the database again.
func (w *work) cancelLoad(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return w.shop().cancel(ctx)
}

// cancelVerificationLoad ends the Job that loads a dump to verify it, and deletes what it was
// loaded with.
func (w *work) cancelVerificationLoad(ctx context.Context) steps.Result {
	if !w.isDump() {
		return steps.Result{}
	}
	return w.verificationLoad().tidy(ctx)
}
