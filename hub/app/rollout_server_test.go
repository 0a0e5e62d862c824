package app

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// TestAMajorVersionWaitsForTheRollout edits the version of MySQL to the next major one while a rollout is in progress: what
// else was edited is rolled out with the version before, and the major version when that is complete.
func TestAMajorVersionWaitsForTheRollout(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := observer(time.Unix(0, 0))
	r.revisions = revisions.New(hub, hub, nil)
	app, in := rollingShop()
	app.Namespace, app.Name, app.UID = "shops", "shop", "u"
	app.Spec.Image, app.Spec.Database = "shop:v1", &v1.Database{Engine: v1.EngineMySQL, Version: "8.4.2", Storage: "1Gi"}
	app.Status.Rollout.SpecHash = "" // Revision 3 is stored by the first pass, and is in progress.
	pass := func() *v1.RolloutStatus {
		t.Helper()
		in.Previous = app.Status
		got := &observation{Input: in}
		if err := r.planRollout(t.Context(), app, got); err != nil {
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
	in.Clusters[1].Copy.Refused, in.Clusters[1].Copy.Status.ObservedGeneration = "that of the spec", 1
	next := pass()
	if strings.Contains(next.Message, "left behind") {
		t.Errorf("a cluster is left behind because of a server that waits: %s", next.Message)
	}
	in.Clusters[1].Copy.Refused = ""
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

// TestRefusedServer checks that a cluster whose database cannot follow keeps its revision, and that its entry says why.
func TestRefusedServer(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	in.Clusters[1].Copy.Refused = "m"
	got := &observation{Input: in}
	r := observer(time.Unix(0, 0))
	got.rollOut(r.requestOf(app, revisions.Resolved{Revision: 2, Hash: "h2"}, &got.Input))
	r.planRendering(app, got)
	got.addRefusals()
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
