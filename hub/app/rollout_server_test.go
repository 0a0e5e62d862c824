package app

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// withRevisions returns a reconciler that stores revisions.
func withRevisions(t *testing.T) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := observer(time.Unix(0, 0))
	r.revisions = revisions.New(hub, hub, nil)
	return r
}

// TestAMajorVersionWaitsForTheRollout edits the version of MySQL to the next major one while a rollout is in progress: what
// else was edited is rolled out with the version before, and the major version when that is complete.
func TestAMajorVersionWaitsForTheRollout(t *testing.T) {
	t.Parallel()
	r := withRevisions(t)
	app, in := rollingShop()
	app.Namespace, app.Name, app.UID = "shops", "shop", "u"
	app.Spec.Image, app.Spec.Database = "shop:v1", &v1.Database{Engine: v1.EngineMySQL, Version: "8.4.2", Storage: "1Gi"}
	app.Status.Rollout.SpecHash = "" // Revision 3 is stored by the first pass, and is in progress.
	pass := func() *v1.RolloutStatus {
		t.Helper()
		in.Previous = app.Status
		got := &observation{Input: in}
		if err := r.decideRollout(t.Context(), app, got); err != nil {
			t.Fatal(err)
		}
		if was := app.Status.Rollout; (was.DatabaseServer != nil) != (got.Rollout.DatabaseServer != nil) && got.until.IsZero() {
			t.Error("nothing wakes the next decision, though it is about another server")
		}
		app.Status.Rollout = got.Rollout
		return got.Rollout
	}
	version := func() string {
		t.Helper()
		spec, err := r.revisions.Spec(t.Context(), app, app.Status.Rollout.Revision)
		if err != nil {
			t.Fatal(err)
		}
		if rolled := rollout.RevisionSpec(app); rolled.Database.Version != spec.Database.Version {
			t.Errorf("clusters get version %s, and the revision has %s", rolled.Database.Version, spec.Database.Version)
		}
		return spec.Image + " " + spec.Database.Version
	}

	first := pass().Revision
	if got := version(); got != "shop:v1 8.4.2" {
		t.Fatalf("the first revision has %s", got)
	}
	app.Spec.Image, app.Spec.Database.Version, app.Spec.Database.AllowUpgradeTo = "shop:v2", "9.1.0", "9"
	in.Clusters[1].Copy.UpgradeRefused, in.Clusters[1].Copy.Status.ObservedGeneration = "that of the spec", 1
	next := pass()
	if strings.Contains(next.Message, "left behind") {
		t.Errorf("a cluster is left behind because of a server that waits: %s", next.Message)
	}
	in.Clusters[1].Copy.UpgradeRefused = ""
	if got := version(); next.Revision != first+1 || got != "shop:v2 8.4.2" || next.DatabaseServer == nil || !strings.Contains(next.Message, "MySQL 9.1.0 waits") {
		t.Fatalf("after the edit: revision %d with %s, server %v, message %q", next.Revision, got, next.DatabaseServer, next.Message)
	}
	if again := pass(); again.Revision != next.Revision || again.DatabaseServer == nil {
		t.Fatalf("a later pass: revision %d, server %v", again.Revision, again.DatabaseServer)
	}
	app.Status.Rollout.State = v1.RolloutComplete
	next = pass()
	if got := version(); next.Revision != first+2 || got != "shop:v2 9.1.0" || next.DatabaseServer != nil {
		t.Fatalf("after the rollout: revision %d with %s, server %v", next.Revision, got, next.DatabaseServer)
	}
}

// TestRefusedOrderHasItsTurn checks that a cluster that was given a revision which it refuses gets it in its turn when its
// database can follow, as after an update of the hub from a release that gave it to all: not while the rollout is paused.
func TestRefusedOrderHasItsTurn(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	r := observer(time.Unix(0, 0))
	completed := in.Now
	app.Status.Rollout.State, app.Status.Rollout.CompletionTime = v1.RolloutComplete, &completed
	app.Status.Rollout.Updating = []v1.ClusterUpdate{{Name: "b", Before: &v1.ClusterBefore{Serving: true}}}
	app.Status.Clusters[1].Revision = 2
	in.Clusters[1].Copy.UpgradeRefused, in.Clusters[1].Failure = "m", &aggregate.Failure{Reason: v1.ReasonUpgradeRefused, Message: "m"}
	pass := func(want int64, paused bool) {
		t.Helper()
		in.Previous = app.Status
		got := &observation{Input: in}
		request := r.requestOf(app, revisions.Resolved{Revision: 2, Hash: "h2"}, &got.Input)
		request.Paused = paused
		got.rollOut(request)
		status := aggregate.Compute(got.Input)
		if b := status.EntryOf("b"); b.Revision != want || b.Stalled != (in.Clusters[1].Copy.UpgradeRefused != "") {
			t.Fatalf("revision %d, stalled %t; want revision %d: %+v", b.Revision, b.Stalled, want, status.Rollout)
		}
		app.Status = status
	}
	pass(1, false)
	in.Clusters[1].Failure = nil // It has what it was given.
	pass(1, false)
	in.Clusters[1].Copy.UpgradeRefused = ""
	pass(1, true)
	pass(2, false)
}

// TestRefusalsAreKept checks that a cluster stays left behind while nothing can be decided, and that none is meanwhile that
// was not.
func TestRefusalsAreKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp, *aggregate.Input)
		want   string
	}{
		"its revision cannot be stored": {func(*v1.EcommerceApp, *aggregate.Input) {}, "m"},
		"windows make no sense": {func(app *v1.EcommerceApp, _ *aggregate.Input) {
			app.Spec.Rollout.Windows = []v1.RolloutWindow{{Schedule: "never"}}
		}, "m"},
		"it can follow by now":   {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[1].Copy.UpgradeRefused = "" }, ""},
		"it was not left behind": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Previous.Clusters[1].Reason = v1.ReasonProgressing }, ""},
		"it has the revision": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Previous.Clusters[1].Revision, in.Clusters[1].Copy.Revision = 2, 2
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, in := rollingShop()
			in.Clusters[1].Copy.UpgradeRefused, in.Previous.Clusters[1].Reason = "m", v1.ReasonUpgradeRefused
			tt.change(app, &in)
			revision := in.Previous.Clusters[1].Revision
			hub := &partial{denied: apierrors.NewForbidden(schema.GroupResource{Resource: "controllerrevisions"}, "", nil)}
			if len(app.Spec.Rollout.Windows) > 0 {
				hub.denied = nil
			}
			r := observer(time.Unix(0, 0))
			r.revisions = revisions.New(hub, hub, nil)
			got := &observation{Input: in}
			if err := r.decideRollout(t.Context(), app, got); (err != nil) != (hub.denied != nil) {
				t.Fatal(err)
			}
			if b := got.Clusters[1]; b.LeftBehind != tt.want || got.Revisions["b"] != revision || got.Rollout.Revision != 2 {
				t.Errorf("refused %q, revision %d; want %q, %d", b.LeftBehind, got.Revisions["b"], tt.want, revision)
			}
			if failed := got.Unrevised != nil || got.Invalid != ""; !failed {
				t.Error("the status does not say that nothing was decided")
			}
		})
	}
}

// TestRefusedServer checks that a cluster whose database cannot follow keeps its revision, and that its entry says why.
func TestRefusedServer(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	in.Clusters[1].Copy.UpgradeRefused = "m"
	got := &observation{Input: in}
	r := observer(time.Unix(0, 0))
	got.rollOut(r.requestOf(app, revisions.Resolved{Revision: 2, Hash: "h2"}, &got.Input))
	r.decideRendering(app, got)
	status := aggregate.Compute(got.Input)
	if b := status.EntryOf("b"); b.Revision != 1 || b.Reason != v1.ReasonUpgradeRefused || !b.Stalled || b.Message != "m" {
		t.Errorf("its entry is %+v", b)
	}
	if status.Rollout.State != v1.RolloutComplete || status.Rollout.Message != "left behind: b" {
		t.Errorf("the rollout is %s: %s", status.Rollout.State, status.Rollout.Message)
	}
	if a := status.EntryOf("a"); a.Stalled {
		t.Errorf("the other cluster has %+v", a)
	}
}

// TestDryRunRollout checks that a dry run hands over the facts that the rollout decides by, unless all clusters change at once.
func TestDryRunRollout(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	for name, previous := range map[string]int64{"a revision was healthy": 1, "none was, and none serves": 0} {
		r := observer(time.Unix(0, 0))
		r.revisions = revisions.New(hub, hub, nil)
		app, in := rollingShop()
		app.Namespace, app.Name, app.UID, app.Spec.Image = "shops", "shop", "u", "shop:v3"
		app.Status.Rollout.PreviousRevision = previous
		for i := range in.Clusters {
			status := &in.Clusters[i].Copy.Status
			status.Components = []v1.ComponentStatus{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}
			if previous == 0 {
				status.Conditions[1].Status = metav1.ConditionFalse
			}
		}
		in.Previous = app.Status
		spec, clusters, err := r.dryRunRollout(t.Context(), app, &in)
		if err != nil {
			t.Fatal(err)
		}
		if previous == 0 {
			if spec != nil || clusters != nil {
				t.Errorf("%s: the clusters wait: %v, %v", name, spec, clusters)
			}
			continue
		}
		if spec == nil || len(clusters) != 2 || len(clusters[1].Unready) != 1 || clusters[1].Unready[0].Name != "backend" {
			t.Errorf("%s: rollout %v, clusters %+v, want those with a component that is not ready", name, spec, clusters)
		}
	}
}

// TestPodsThatAreReplacedCount edits an application while an upgrade of the hub replaces its pods in the second cluster.
func TestPodsThatAreReplacedCount(t *testing.T) {
	t.Parallel()
	r := withRevisions(t)
	app, in := upgraded(func(app *v1.EcommerceApp, in *observation) {
		began(in)
		in.Clusters[0].Region, in.Previous.Clusters[0].Region = "zz", "zz" // The last in order.
		app.Namespace, app.Name, app.UID = "shops", "shop", "u"
		app.Spec.Image, app.Spec.Rollout = "shop:v2", &v1.Rollout{}
		for i := range in.Previous.Clusters {
			in.Previous.Clusters[i].Revision, in.Clusters[i].Copy.Revision = 1, 1
		}
		in.Previous.Rollout = &v1.RolloutStatus{Revision: 1, State: v1.RolloutComplete, CompletionTime: new(in.Now)}
	})
	app.Status = in.Previous
	pass := func() (map[string]int64, string) {
		t.Helper()
		got := &observation{Input: in.Input}
		if err := r.decideRollout(t.Context(), app, got); err != nil {
			t.Fatal(err)
		}
		return got.Revisions, got.Rollout.Message
	}
	if got, message := pass(); got["a"] != 1 || got["b"] != 1 || !strings.Contains(message, "began before: a") {
		t.Errorf("while pods are replaced in a, the clusters get the revisions %v: %s", got, message)
	}
	in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = render.Version, nil
	if got, message := pass(); got["a"] != 1 || got["b"] != 2 {
		t.Errorf("once they are, the clusters get the revisions %v: %s", got, message)
	}
}
