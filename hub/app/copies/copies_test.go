package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

func TestCopyForSaysWhatTheHubSaysAndNoMore(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "shop", UID: "u-1", Generation: 7, ResourceVersion: "99",
			Labels:     map[string]string{"team": "a"},
			Finalizers: []string{v1.HubFinalizer},
			Annotations: map[string]string{
				v1.ReconcileAtAnnotation: "t1", v1.RestartedAtAnnotation: "t2", v1.ImageUpdatedAnnotation: "true",
				v1.StartEmptyAnnotation:                            "t3",
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
			},
			OwnerReferences: []metav1.OwnerReference{{UID: "of-the-hub"}},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}}},
		Status: v1.EcommerceAppStatus{Phase: v1.PhaseRunning, Clusters: []v1.ClusterStatus{
			{Name: "eu-1", DatabaseCreated: true}, {Name: "us-1"},
		}},
	}
	want := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "shop",
			Labels:     map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: "eu-1"},
			Finalizers: []string{v1.SpokeFinalizer},
			Annotations: map[string]string{
				v1.HubAppUIDAnnotation: "u-1", v1.HubGenerationAnnotation: "7",
				v1.ReconcileAtAnnotation: "t1", v1.RestartedAtAnnotation: "t2", v1.StartEmptyAnnotation: "t3", v1.DatabaseCreatedAnnotation: "true",
				v1.ManagedByModeAnnotation: "agent", v1.RegionAnnotation: "eu-west-1", v1.ProviderAnnotation: "aws",
			},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	if diff := cmp.Diff(want, made(t, app, memberFacts{cluster: "eu-1", region: "eu-west-1", provider: v1.ProviderAWS, managedBy: v1.ManagedByAgent})); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if other := made(t, app, memberFacts{cluster: "us-1"}); other.Annotations[v1.DatabaseCreatedAnnotation] != "" {
		t.Error("the database was created in the other cluster only")
	}
	if len(app.Spec.Placement.Regions) != 1 {
		t.Error("the application lost its placement")
	}
}

func TestOwned(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1"}}
	tests := map[string]struct {
		annotations, labels map[string]string
		owned, adoptable    bool
	}{
		"made from it":                  {map[string]string{v1.HubAppUIDAnnotation: "u-1"}, nil, true, true},
		"made from another one":         {map[string]string{v1.HubAppUIDAnnotation: "u-0"}, map[string]string{v1.ManagedByLabel: v1.ManagedBy}, false, true},
		"with a UID that a user copied": {map[string]string{v1.HubAppUIDAnnotation: "u-0"}, nil, false, false},
		"created by a user":             {nil, nil, false, false},
		"stripped of both marks":        {map[string]string{v1.HubGenerationAnnotation: "7"}, nil, true, true},
		"stripped of its UID":           {nil, map[string]string{v1.ManagedByLabel: v1.ManagedBy}, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations, Labels: tt.labels}}
			if got := owned(app)(live); got != tt.owned {
				t.Errorf("owned: %t, want %t", got, tt.owned)
			}
			if got := adoptable(app)(live); got != tt.adoptable {
				t.Errorf("adoptable: %t, want %t", got, tt.adoptable)
			}
		})
	}
}

func TestObservedCopy(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1"}}
	live := made(t, &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7}}, memberFacts{cluster: "eu-1", managedBy: v1.ManagedByHub})
	live.Generation = 3
	if c := observedCopy(app, live); c == nil || c.Generation != 3 || c.HubGeneration != 7 || c.Deleting {
		t.Errorf("observed %+v", c)
	}
	live.Annotations[v1.HubGenerationAnnotation] = "soon"
	if c := observedCopy(app, live); c == nil || c.HubGeneration != 0 {
		t.Errorf("a generation that is no number is observed as %+v", c)
	}
	live.Annotations[v1.HubAppUIDAnnotation] = "u-0"
	if c := observedCopy(app, live); c != nil {
		t.Errorf("the copy of an earlier application is observed as %+v", c)
	}
}

// facts returns what the status of an application says.
func facts(app *v1.EcommerceApp) *state.Decision {
	return DecisionOf(app, &app.Status, state.Sources{})
}

// copyOf returns the copy that follows from the status of an application, without an earlier revision.
func copyOf(app *v1.EcommerceApp, facts memberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	d := DecisionOf(app, &app.Status, state.Sources{})
	facts.order = d.Order(facts.cluster)
	target := revisions.Target{Member: &v1.MemberCluster{}}
	if facts.member != nil {
		target.Member = facts.member
	}
	if facts.order != nil {
		target.Share = facts.order.Share
	}
	facts.effective, facts.specErr = target.Effective(&d.App.Spec)
	return copyFor(d.App, facts, live)
}

// made returns the copy of an application that a member does not have yet.
func made(t *testing.T, app *v1.EcommerceApp, facts memberFacts) *v1.EcommerceApp {
	t.Helper()
	copied, err := copyOf(app, facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// stamped returns a copy with the hash that the applier gives it.
func stamped(t *testing.T, copied *v1.EcommerceApp) *v1.EcommerceApp {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(copied)
	if err != nil {
		t.Fatal(err)
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetGroupVersionKind(v1.GroupVersion.WithKind("EcommerceApp"))
	if _, err := apply.Stamp(sent); err != nil {
		t.Fatal(err)
	}
	copied.SetAnnotations(sent.GetAnnotations())
	return copied
}

// TestANewHubWritesNothingNew checks copies that an earlier release wrote without their location.
func TestANewHubWritesNothingNew(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: 7},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	here := memberFacts{cluster: "eu-1", region: "eu-west-1", provider: v1.ProviderAWS, managedBy: v1.ManagedByHub}
	agent := here
	agent.managedBy = v1.ManagedByAgent
	// stored is a copy as a hub of that time wrote it: the same without the facts.
	stored := func(generation int64) *v1.EcommerceApp {
		then := app.DeepCopy()
		then.Generation = generation
		older := made(t, then, here)
		for _, key := range []string{v1.ManagedByModeAnnotation, v1.RegionAnnotation, v1.ProviderAnnotation} {
			delete(older.Annotations, key)
		}
		return stamped(t, older)
	}
	stripped := stamped(t, made(t, app, here))
	delete(stripped.Annotations, v1.ManagedByModeAnnotation)
	tests := map[string]struct {
		live  *v1.EcommerceApp
		facts memberFacts
		older bool
	}{
		"unchanged since":        {stored(7), here, true},
		"changed since":          {stored(6), here, false},
		"handed to the agent":    {stored(7), agent, false},
		"stripped of its home":   {stripped, here, false},
		"written with its facts": {made(t, app, here), here, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := asWritten(made(t, app, tt.facts), tt.live, false)
			if err != nil {
				t.Fatal(err)
			}
			if older := got.Annotations[v1.ManagedByModeAnnotation] == ""; older != tt.older {
				t.Errorf("left as it was: %t, want %t", older, tt.older)
			}
		})
	}
}

// TestCreatedDatabasesCostNoWrite checks that the hub records a created database with the next change of the copy, or
// at once if the status of the copy does not have it.
func TestCreatedDatabasesCostNoWrite(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: 7},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	here := memberFacts{cluster: "eu-1", managedBy: v1.ManagedByHub}
	live := stamped(t, made(t, app, here))
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", DatabaseCreated: true}}
	intent := made(t, app, here)
	edited := app.DeepCopy()
	edited.Spec.Image = "shop:v2"
	for name, tt := range map[string]struct {
		intent  *v1.EcommerceApp
		created bool
		want    string
	}{
		"the copy knows":         {intent, true, ""},
		"the copy does not know": {intent, false, "true"},
		"another change":         {made(t, edited, here), true, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := live.DeepCopy()
			live.Status.DatabaseCreated = tt.created
			got, err := asWritten(tt.intent, live, false)
			if err != nil || got.Annotations[v1.DatabaseCreatedAnnotation] != tt.want {
				t.Errorf("annotations %v, %v", got.Annotations, err)
			}
		})
	}
}
