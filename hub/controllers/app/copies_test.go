package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
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
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
			},
			OwnerReferences: []metav1.OwnerReference{{UID: "of-the-hub"}},
		},
		Spec:   v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{Regions: []string{"r"}}},
		Status: v1.EcommerceAppStatus{Phase: v1.PhaseRunning},
	}
	want := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "shop",
			Labels:     map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: "eu-1"},
			Finalizers: []string{v1.SpokeFinalizer},
			Annotations: map[string]string{
				v1.HubAppUIDAnnotation: "u-1", v1.HubGenerationAnnotation: "7",
				v1.ReconcileAtAnnotation: "t1", v1.RestartedAtAnnotation: "t2",
			},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	if diff := cmp.Diff(want, copyFor(app, "eu-1")); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
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
		want                bool
	}{
		"made from it":                    {map[string]string{v1.HubAppUIDAnnotation: "u-1"}, nil, true},
		"made from an earlier one":        {map[string]string{v1.HubAppUIDAnnotation: "u-0"}, map[string]string{v1.ManagedByLabel: v1.ManagedBy}, true},
		"with a UID that somebody copied": {map[string]string{v1.HubAppUIDAnnotation: "u-0"}, nil, false},
		"somebody's":                      {nil, nil, false},
		"stripped of its UID":             {nil, map[string]string{v1.ManagedByLabel: v1.ManagedBy}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations, Labels: tt.labels}}
			if got := owned(app)(live); got != tt.want {
				t.Errorf("owned: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestObservedCopy(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1"}}
	live := copyFor(&v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7}}, "eu-1")
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
