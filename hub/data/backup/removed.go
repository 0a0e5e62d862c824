package backup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/backup/dump"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// failRemoved fails the completed Backups whose dumps were removed from the claim before
// their retention ended, according to the dump of this one.
func (w *work) failRemoved(ctx context.Context) error {
	d := w.backup.Status.Dump
	if d == nil || d.RemovedUpToTime == nil {
		return nil
	}
	list := &v1.BackupList{}
	if err := w.client.List(ctx, list, client.InNamespace(w.backup.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing backups: %w", err)
	}
	for i := range list.Items {
		if b := &list.Items[i]; b.DeletionTimestamp.IsZero() && dump.Gone(b, w.backup) {
			if err := w.failOne(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) failOne(ctx context.Context, stored *v1.Backup) error {
	b := stored.DeepCopy()
	b.Status.Phase = v1.BackupFailed
	b.Status.Message = fmt.Sprintf("The dump was removed from the claim %s before its retention ended, because the claim was full: "+
		"expand the claim, for example by spec.database.storage, or lower spec.database.backup.retention", b.Status.Dump.Claim)
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing, Message: b.Status.Message,
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(w.now),
	})
	if err := w.client.Status().Patch(ctx, b, retry.MergeFromLocked(stored)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of %q: %w", b.Name, err)
	}
	w.options.Recorder.Eventf(b, nil, corev1.EventTypeWarning, v1.ReasonDumpMissing, "BackUp", "%s", b.Status.Message)
	return nil
}
