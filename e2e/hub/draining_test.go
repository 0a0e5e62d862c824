package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

var errElsewhere = errors.New("it is placed on other clusters")

// schedule changes spec.scheduling and taints of the member eu-1, until the test ends.
func (s *suite) schedule(t *testing.T, change func(*v1.MemberClusterSpec)) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { change(&m.Spec) })
	t.Cleanup(func() {
		again := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"scheduling":null,"taints":null}}`))
		if err := s.Hub.Patch(context.WithoutCancel(t.Context()), member, again); err != nil {
			t.Error(err)
		}
	})
}

func drained(m *v1.MemberClusterSpec) { m.Scheduling = v1.SchedulingDrained }

// awaitPlaced blocks until the status lists these clusters and no others.
func (s *suite) awaitPlaced(t *testing.T, app *v1.EcommerceApp, clusters ...string) {
	t.Helper()
	s.AwaitApp(t, app, app.Name+" to be placed on "+strings.Join(clusters, ", "), func(status *v1.EcommerceAppStatus) error {
		var names []string
		for i := range status.Clusters {
			names = append(names, status.Clusters[i].Name)
		}
		if !slices.Equal(names, clusters) {
			return fmt.Errorf("%w: %v", errElsewhere, names)
		}
		return nil
	})
}

// testDraining drains members, and adds taints to them.
func (s *suite) testDraining(t *testing.T) {
	// What is done to a member asks for them.
	for _, name := range []string{"drained", "stays", "tolerant"} {
		s.ExpectDeletes(invariants.Expected{Cluster: "eu-1", Namespace: "small", Name: name + "*"})
	}
	t.Run("a shop is served elsewhere before it leaves", s.testDrain)
	t.Run("data stays until the user says otherwise", s.testDrainWithData)
	t.Run("a toleration ends", s.testTolerationEnds)
}

func (s *suite) testDrain(t *testing.T) {
	app := small("drained", "eu-1", "us-1")
	app.Spec.Placement.MaxClusters = 1
	app.Spec.Placement.Preferences = []v1.WeightedClusters{{Weight: 1, Selector: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu)
	before := s.Mark(t)
	s.schedule(t, drained)
	s.awaitPlaced(t, app, "us-1")
	s.AwaitRunning(t, app, us)
	copied := app.DeepCopy()
	if err := s.Members["us-1"].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil {
		t.Fatal(err)
	}
	available := framework.Condition(copied.Status.Conditions, v1.ConditionAvailable).LastTransitionTime
	for _, e := range s.Since(t, before, s.Fleet.Member("eu-1")).Writes().In(app.Namespace) {
		if e.Resource == "ecommerceapps" && e.Verb == "delete" && e.Received.Before(available.Time) {
			t.Errorf("deleted at %s, and served elsewhere from %s on", e.Received, available)
		}
	}
	s.Delete(t, app)
}

func (s *suite) testDrainWithData(t *testing.T) {
	app := small("stays", "eu-1", "us-1")
	app.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17", Storage: "1Gi"}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	s.schedule(t, drained)
	placed := framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionPlaced, Status: metav1.ConditionTrue, Reason: v1.ReasonDataStays})
	if !strings.Contains(placed.Message, "add eu-1 to the annotation ecommerce.io/move-empty") {
		t.Errorf("the condition does not say what to do: %q", placed.Message)
	}
	s.awaitPlaced(t, app, "eu-1", "us-1")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Annotations = map[string]string{v1.MoveEmptyAnnotation: "eu-1"}
	})
	s.awaitPlaced(t, app, "us-1")
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionPlaced, Status: metav1.ConditionTrue, Reason: v1.ReasonPlaced})
	framework.Await(t, s.Hub, app, "the consent to be used up", func(a *v1.EcommerceApp) error {
		if named, has := a.Annotations[v1.MoveEmptyAnnotation]; has {
			return fmt.Errorf("%w: %s", errElsewhere, named)
		}
		return nil
	})
	s.Delete(t, app)
}

func (s *suite) testTolerationEnds(t *testing.T) {
	app := small("tolerant", "eu-1", "us-1")
	app.Spec.Placement.Tolerations = []v1.Toleration{{
		Key: "maintenance", Operator: v1.TolerationExists, Effect: v1.ToleratesNoExecute, TolerationSeconds: new(int64(2)),
	}}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	s.schedule(t, func(m *v1.MemberClusterSpec) {
		m.Taints = []v1.Taint{{Key: "maintenance", Effect: v1.TaintNoExecute}}
	})
	s.awaitPlaced(t, app, "us-1")
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Await(t, s.Hub, member, "the time of the taint", func(m *v1.MemberCluster) error {
		if len(m.Status.Taints) != 1 || m.Status.Taints[0].AddedTime.IsZero() {
			return fmt.Errorf("%w: %v", errElsewhere, m.Status.Taints)
		}
		return nil
	})
	s.Delete(t, app)
}
