package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/members"
)

// partial is a hub with a MemberCluster and a record of orphans, or without, that denies writes of anything but
// statuses if it is told to.
type partial struct {
	client.Client
	member *v1.MemberCluster
	record *corev1.ConfigMap
	denied error

	deleted, statuses int
}

func (p *partial) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch into := o.(type) {
	case *v1.MemberCluster:
		if p.member != nil {
			p.member.DeepCopyInto(into)
			return nil
		}
	case *corev1.ConfigMap:
		if p.record != nil && key.Name == p.record.Name {
			p.record.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (p *partial) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (p *partial) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	if p.denied == nil {
		p.deleted++
	}
	return p.denied
}

func (p *partial) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return p.denied
}

func (p *partial) Status() client.SubResourceWriter { return &partialStatus{hub: p} }

type partialStatus struct {
	client.SubResourceWriter
	hub *partial
}

func (s *partialStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	s.hub.statuses++
	return nil
}

// TestRecordOfOrphans checks that the list of orphans is deleted with the member, and that a failed write of the list
// does not prevent the status.
func TestRecordOfOrphans(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	cluster := member(v1.MemberClusterStatus{}, v1.MemberClusterSpec{})
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: recovery.OrphansName("eu"), UID: "u", Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}}, Data: map[string]string{"1": "{}"},
	}
	mine := record.DeepCopy()
	mine.Labels = nil
	scheme := runtime.NewScheme()
	for name, tt := range map[string]struct {
		hub               partial
		deleted, statuses int
	}{
		"the member is gone":             {partial{record: record}, 1, 0},
		"the member has no registration": {partial{member: cluster, record: record}, 1, 1},
		"there is no record":             {partial{member: cluster}, 0, 1},
		"a user's object of the name":    {partial{member: cluster, record: mine}, 0, 1},
		"writes are denied":              {partial{member: cluster, record: record, denied: denied}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := &tt.hub
			r := &Reconciler{
				client: hub, direct: hub, fleet: members.New(members.Options{Scheme: scheme}), namespace: "shopfleet-system",
				clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), recorder: events.NewFakeRecorder(10), orphans: NewOrphans(),
			}
			if err := r.reconcile(t.Context(), "eu"); (err != nil) != (tt.hub.denied != nil) {
				t.Errorf("error %v", err)
			}
			if hub.deleted != tt.deleted || hub.statuses != tt.statuses {
				t.Errorf("%d records were deleted and %d statuses written, want %d and %d", hub.deleted, hub.statuses, tt.deleted, tt.statuses)
			}
			r.orphans.caches["eu"] = []client.Reader{hub} // It is connected, and has no copy.
			before := hub.deleted
			if n, err := r.observeOrphans(t.Context(), "eu"); tt.hub.denied == nil && (err != nil || *n != 0 || hub.deleted-before != tt.deleted) {
				t.Errorf("connected without orphans: %d records were deleted, %v", hub.deleted-before, err)
			}
		})
	}
}
