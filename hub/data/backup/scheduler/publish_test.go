package scheduler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// TestPublish checks that the condition is passed on to what writes the status, and that an event is recorded once. The Reconciler
// has no client: the status has another writer.
func TestPublish(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(10)
	var last aggregate.BackupSummary
	known := false
	r := &Reconciler{options: Options{Recorder: recorder, SetBackups: func(_ client.ObjectKey, next aggregate.BackupSummary) (aggregate.BackupSummary, bool) {
		before, was := last, known
		last, known = next, true
		return before, was
	}}}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u-1", Generation: 4}}
	late := Decision{Condition: metav1.Condition{Type: v1.ConditionBackupReady, Status: metav1.ConditionFalse, Reason: v1.ReasonBackupTooOld, Message: "old"}}
	for range 2 {
		r.publish(app, late)
	}
	if c := last.Condition; last.App != "u-1" || c == nil || c.ObservedGeneration != 4 || c.Reason != v1.ReasonBackupTooOld {
		t.Errorf("%+v is passed on", last)
	}
	if n := len(recorder.Events); n != 1 {
		t.Errorf("%d events, want one", n)
	}
}
