package restore

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// denying is a hub that takes statuses, and denies all other writes.
type denying struct {
	client.Client
	denied  error
	written []v1.RestoreStatus
}

func (d *denying) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return d.denied
}

func (d *denying) Status() client.SubResourceWriter { return &denyingStatus{hub: d} }

type denyingStatus struct {
	client.SubResourceWriter
	hub *denying
}

func (s *denyingStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	s.hub.written = append(s.hub.written, *o.(*v1.Restore).Status.DeepCopy())
	return nil
}

// TestUnstarted checks that a Restore that cannot be started says why, if a user has to act.
func TestUnstarted(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "restores"}
	for name, tt := range map[string]struct {
		denied error
		reason string
	}{
		"denied":       {apierrors.NewForbidden(resource, "b", nil), v1.ReasonForbidden},
		"for a moment": {apierrors.NewInternalError(context.DeadlineExceeded), ""},
		"a conflict":   {apierrors.NewConflict(resource, "b", nil), ""},
	} {
		hub := &denying{denied: tt.denied}
		w := &work{Reconciler: &Reconciler{client: hub, options: Options{Recorder: events.NewFakeRecorder(10)}}, stored: &v1.Restore{}, now: time.Unix(1000, 0)}
		if _, err := w.pass(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		if tt.reason == "" {
			if len(hub.written) > 0 {
				t.Errorf("%s: %+v", name, hub.written)
			}
			continue
		}
		if len(hub.written) != 1 {
			t.Fatalf("%s: %d statuses", name, len(hub.written))
		}
		if c := meta.FindStatusCondition(hub.written[0].Conditions, v1.ConditionReady); c == nil || c.Reason != tt.reason {
			t.Errorf("%s: Ready is %+v", name, c)
		}
	}
}
