package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// strict is an API server that refuses statuses with a message in an entry.
type strict struct {
	client.Client
	written []v1.EcommerceAppStatus
}

func (s *strict) Status() client.SubResourceWriter { return &strictStatus{strict: s} }

type strictStatus struct {
	client.SubResourceWriter
	strict *strict
}

func (s *strictStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	app := o.(*v1.EcommerceApp)
	for i := range app.Status.Clusters {
		if app.Status.Clusters[i].Message != "" {
			at := field.NewPath("status", "clusters").Index(i).Child("message")
			return apierrors.NewInvalid(v1.GroupVersion.WithKind("EcommerceApp").GroupKind(), app.Name, field.ErrorList{field.TooLong(at, "", 1)})
		}
	}
	s.strict.written = append(s.strict.written, *app.Status.DeepCopy())
	return nil
}

// TestRefused checks that a status that the API server refuses is written once without what members report, and in
// full when it is accepted again.
func TestRefused(t *testing.T) {
	t.Parallel()
	hub, recorder, clock := &strict{}, events.NewFakeRecorder(10), clocktesting.NewFakeClock(time.Unix(1000, 0))
	known := state.New(clock)
	r := &Reconciler{client: hub, state: known, dispatcher: copies.New(nil, copies.Options{State: known}), clock: clock, recorder: recorder, progress: retry.NewProgress(progressPeriod)}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", Generation: 1}}
	problem := &aggregate.Failure{Reason: v1.ReasonForbidden, Message: "what a member says"}
	report := func(failure *aggregate.Failure) v1.EcommerceAppStatus {
		in := aggregate.Input{
			Generation: 1, Chosen: []string{"eu-1", "us-1"}, Previous: *app.Status.DeepCopy(), Now: metav1.NewTime(clock.Now()),
			Clusters: []aggregate.Cluster{{Name: "eu-1", Copy: running()}, {Name: "us-1", Copy: running(), Failure: failure}},
		}
		if _, err := r.writeStatus(t.Context(), app, &observation{Input: in}, aggregate.Compute(in)); err != nil {
			t.Fatal(err)
		}
		return app.Status
	}
	report(nil)
	for range 3 {
		clock.Step(time.Minute)
		status := report(problem)
		c := meta.FindStatusCondition(status.Conditions, v1.ConditionStatusRejected)
		if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "what us-1 reports") || !strings.Contains(c.Message, "status.clusters[1].message") {
			t.Fatalf("condition %+v", c)
		}
		entry := status.EntryOf("us-1")
		if entry.Phase != v1.PhaseFailed || !entry.Stalled || entry.Reason != v1.ReasonStatusRejected || !status.Clusters[0].Ready || len(status.Clusters[0].Components) > 0 {
			t.Errorf("clusters %+v", status.Clusters)
		}
	}
	if len(hub.written) != 2 {
		t.Errorf("%d statuses were written, want the one before and the one without reports", len(hub.written))
	}
	var rejected int
	for len(recorder.Events) > 0 {
		if strings.Contains(<-recorder.Events, v1.ReasonStatusRejected) {
			rejected++
		}
	}
	if rejected != 1 {
		t.Errorf("%d events about the refusal", rejected)
	}
	clock.Step(time.Minute)
	status := report(nil)
	if meta.FindStatusCondition(status.Conditions, v1.ConditionStatusRejected) != nil || len(status.Clusters[0].Components) == 0 {
		t.Errorf("conditions %+v", status.Conditions)
	}
	if diff := cmp.Diff(hub.written[0].Components, status.Components); diff != "" {
		t.Errorf("components (-before +after):\n%s", diff)
	}
}

// running returns a copy that runs.
func running() *aggregate.Copy {
	conditions := []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonRunning}}
	return &aggregate.Copy{HubGeneration: 1, Status: v1.EcommerceAppStatus{
		Phase: v1.PhaseRunning, Conditions: conditions, Components: []v1.ComponentStatus{{Name: "frontend", Phase: v1.PhaseRunning, Ready: true}},
	}}
}
