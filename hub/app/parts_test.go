package app

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// partial is a hub whose API server takes statuses, and denies what it is told to.
type partial struct {
	strict
	members []v1.MemberCluster
	// existing has the name of the revision that is created next; nil if there is none.
	existing *appsv1.ControllerRevision
	// denied is the error of writes other than those of statuses.
	denied error
}

func (p *partial) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if members, is := list.(*v1.MemberClusterList); is {
		members.Items = p.members
	}
	return nil
}

func (p *partial) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if revision, is := o.(*appsv1.ControllerRevision); is && p.existing != nil {
		p.existing.DeepCopyInto(revision)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "none")
}

func (p *partial) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if p.existing != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "controllerrevisions"}, o.GetName())
	}
	return p.denied
}

func (p *partial) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return p.denied
}

// TestPartsFail checks that an error in one part of a decision does not keep the rest from being reported: a cluster
// that is lost meanwhile is Stale.
func TestPartsFail(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "controllerrevisions"}, "", nil)
	mine := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "shop-revision-1", Labels: map[string]string{"mine": "true"}}}
	rollout := func(app *v1.EcommerceApp) { app.Spec.Rollout = &v1.Rollout{} }
	for name, tt := range map[string]struct {
		hub    partial
		change func(*v1.EcommerceApp)
		// reason is that of Stalled; empty if it is False.
		reason string
	}{
		"a revision is denied":             {partial{denied: denied}, rollout, v1.ReasonRevisionNotStored},
		"a revision of another owner":      {partial{existing: mine}, rollout, v1.ReasonRevisionNotStored},
		"a restart is denied":              {partial{denied: denied}, func(app *v1.EcommerceApp) { app.Annotations = map[string]string{v1.ImageUpdatedAnnotation: "token"} }, ""},
		"clusters cannot be recorded":      {partial{denied: denied}, func(app *v1.EcommerceApp) { app.Annotations = map[string]string{v1.ClustersAnnotation: "lost"} }, ""},
		"the finalizer cannot be recorded": {partial{denied: denied}, func(app *v1.EcommerceApp) { app.Finalizers = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, hub := clocktesting.NewFakeClock(time.Unix(1000, 0)), &tt.hub
			hub.members = []v1.MemberCluster{member("lost", metav1.ConditionFalse, v1.ReasonProbeFailed), member("new", metav1.ConditionTrue, v1.ReasonConnected)}
			known := state.New(clock)
			r := &Reconciler{
				client: hub, reader: hub, state: known, dispatcher: copies.New(hub, copies.Options{State: known}), clock: clock, recorder: events.NewFakeRecorder(10),
				revisions: revisions.New(hub, hub, known), progress: retry.NewProgress(progressPeriod),
			}
			app := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u", Generation: 1, Finalizers: []string{v1.HubFinalizer}},
				Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
			}
			app.Status.Clusters = []v1.ClusterStatus{{Name: "lost", Phase: v1.PhaseRunning, Ready: true}}
			app.Status.ObservedGeneration, app.Status.LastUpdated = 1, new(metav1.NewTime(clock.Now()))
			tt.change(app)
			_, err := r.reconcile(t.Context(), app)
			if err == nil || apierror.Classify(err) == apierror.Conflict {
				t.Errorf("error %v, want one that is logged and tried again", err)
			}
			if len(hub.written) != 1 {
				t.Fatalf("%d statuses are written: %v", len(hub.written), err)
			}
			status := hub.written[0]
			grows := app.Spec.Rollout == nil && app.Annotations[v1.ClustersAnnotation] == "" && len(app.Finalizers) > 0
			if entry := status.EntryOf("lost"); !entry.Stale || (status.EntryOf("new") != nil) != grows {
				t.Errorf("clusters %+v", status.Clusters)
			}
			hub.checkStalled(t, status.Conditions, tt.reason)
		})
	}
}

// checkStalled checks that Stalled is True for a reason, or False if there is none, and names an object of another
// owner.
func (p *partial) checkStalled(t *testing.T, conditions []metav1.Condition, reason string) {
	t.Helper()
	stalled := meta.FindStatusCondition(conditions, v1.ConditionStalled)
	if is := stalled.Status == metav1.ConditionTrue; is != (reason != "") || is && stalled.Reason != reason {
		t.Errorf("Stalled is %s, %s: %s", stalled.Status, stalled.Reason, stalled.Message)
	}
	if p.existing != nil && !strings.Contains(stalled.Message, `ControllerRevision "shop-revision-1" is not of this application: delete it`) {
		t.Errorf("Stalled says %s", stalled.Message)
	}
}

// duePasses records the delays of requests that are added.
type duePasses struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	due []time.Duration
}

func (d *duePasses) AddAfter(_ reconcile.Request, delay time.Duration) { d.due = append(d.due, delay) }

// TestPartsFailWithProgress checks that an error that is retried later and later does not delay a pass that is due: here
// that of a status that waits for others.
func TestPartsFailWithProgress(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	hub := &partial{denied: apierrors.NewForbidden(schema.GroupResource{Resource: "controllerrevisions"}, "", nil)}
	hub.members = []v1.MemberCluster{member("lost", metav1.ConditionFalse, v1.ReasonProbeFailed)}
	known := state.New(clock)
	r := &Reconciler{
		client: hub, reader: hub, state: known, dispatcher: copies.New(hub, copies.Options{State: known}), clock: clock, recorder: events.NewFakeRecorder(10),
		revisions: revisions.New(hub, hub, known), progress: retry.NewProgress(progressPeriod), queue: &runtimecontroller.Queue{},
	}
	passes := &duePasses{}
	if err := r.queue.Source().Start(t.Context(), passes); err != nil {
		t.Fatal(err)
	}
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u", Generation: 1, Finalizers: []string{v1.HubFinalizer}},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Rollout: &v1.Rollout{}},
	}
	app.Status.Clusters, app.Status.ObservedGeneration = []v1.ClusterStatus{{Name: "lost"}}, 1
	if _, err := r.reconcile(t.Context(), app); err == nil || len(hub.written) != 1 {
		t.Fatalf("%d statuses are written: %v", len(hub.written), err)
	}
	if len(passes.due) > 0 {
		t.Errorf("passes are due after %v", passes.due)
	}
	// The message alone changes.
	hub.existing = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "shop-revision-1"}}
	result, err := r.reconcile(t.Context(), app)
	if err == nil || result.RequeueAfter != 0 || !slices.Equal(passes.due, []time.Duration{progressPeriod}) || len(hub.written) != 1 {
		t.Errorf("after %v, in %s, passes are due after %v; %d statuses", err, result.RequeueAfter, passes.due, len(hub.written))
	}
	clock.Step(progressPeriod)
	if _, err := r.reconcile(t.Context(), app); err == nil || len(hub.written) != 2 {
		t.Errorf("%d statuses are written: %v", len(hub.written), err)
	}
}

// TestPartFailsBeforeTimeout checks the same for the pass in which the deletion no longer waits for a lost cluster, while what
// it leaves behind in another one cannot be recorded.
func TestPartFailsBeforeTimeout(t *testing.T) {
	t.Parallel()
	const timeout, rest = 10 * time.Minute, 7 * time.Minute
	clock, hub := clocktesting.NewFakeClock(time.Unix(100000, 0)), &partial{}
	hub.members = []v1.MemberCluster{member("due", metav1.ConditionFalse, v1.ReasonProbeFailed), member("waits", metav1.ConditionFalse, v1.ReasonProbeFailed)}
	hub.members[1].Status.LastObservedTime = new(metav1.NewTime(clock.Now().Add(rest - timeout)))
	known, passes := state.New(clock), &duePasses{}
	r := &Reconciler{
		client: hub, reader: hub, state: known, dispatcher: copies.New(hub, copies.Options{State: known}), clock: clock, recorder: events.NewFakeRecorder(10),
		revisions: revisions.New(hub, hub, known), progress: retry.NewProgress(progressPeriod), queue: &runtimecontroller.Queue{},
	}
	if err := r.queue.Source().Start(t.Context(), passes); err != nil {
		t.Fatal(err)
	}
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "shop", UID: "u", Generation: 1, Finalizers: []string{v1.HubFinalizer},
			DeletionTimestamp: new(metav1.NewTime(clock.Now().Add(-time.Hour))),
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1", Deletion: v1.Deletion{UnreachableTimeout: &metav1.Duration{Duration: timeout}}},
	}
	app.Status.Clusters, app.Status.ObservedGeneration = []v1.ClusterStatus{{Name: "due"}, {Name: "waits"}}, 1
	result, err := r.reconcile(t.Context(), app)
	if err == nil || result.RequeueAfter != 0 || !slices.Equal(passes.due, []time.Duration{rest}) {
		t.Errorf("error %v, again after %s; passes are due after %v, want %s", err, result.RequeueAfter, passes.due, rest)
	}
}
