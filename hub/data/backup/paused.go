package backup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// paused returns a Result that waits while the hub is in safe mode or the member is paused.
// Snapshots are not in the member, but belong to it: they are neither made nor deleted.
func (w *work) paused(ctx context.Context) (steps.Result, error) {
	if w.options.SafeMode {
		return steps.RetryAfter(steps.Refused, v1.ReasonPaused, "the hub runs in safe mode"), nil
	}
	member := &v1.MemberCluster{}
	err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Spec.ClusterRef.Name}, member, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return steps.Result{}, nil
	case err != nil:
		return steps.Result{}, fmt.Errorf("getting the member: %w", err)
	case member.IsPaused():
		return steps.RetryAfter(steps.Member, v1.ReasonPaused, "%s is paused", member.Name), nil
	default:
		return steps.Result{}, nil
	}
}

// mayBegin returns a Result that waits before work on a Backup begins. The CronJob in a paused
// member goes on, and the dump of its Job needs no write there.
func (w *work) mayBegin(ctx context.Context) (steps.Result, error) {
	if w.backup.Spec.Method == v1.BackupDump && !w.options.SafeMode {
		return steps.Result{}, nil
	}
	return w.paused(ctx)
}

// mayAsk returns a Result that waits before snapshots or copies are requested.
func (w *work) mayAsk(ctx context.Context, asking []*v1.CloudSnapshot) (steps.Result, error) {
	if len(asking) == 0 {
		return steps.Result{}, nil
	}
	return w.paused(ctx)
}

// mayDelete returns a Result that waits before the data of a Backup is deleted.
func (w *work) mayDelete(ctx context.Context) (steps.Result, error) {
	s := &w.backup.Status
	if len(s.Snapshots) == 0 && (s.Dump == nil || s.Dump.Object == nil) {
		return steps.Result{}, nil // There is nothing to delete.
	}
	if result := w.underLock(); result.Stops() {
		return result, nil
	}
	if w.backup.Annotations[v1.PrunedAnnotation] != "" {
		if result, err := w.lost(ctx); result.Stops() || err != nil {
			return result, err
		}
	}
	return w.paused(ctx)
}

// wasPaused reports whether the last pass waited for the end of a pause.
func (w *work) wasPaused() bool { return readyOf(w.backup).Reason == v1.ReasonPaused }
