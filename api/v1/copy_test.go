package v1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestManagedByMode checks that exactly one of hub and agent manages an application,
// whatever its marks.
func TestManagedByMode(t *testing.T) {
	t.Parallel()
	type m = map[string]string
	uid, managed := m{HubAppUIDAnnotation: "u"}, m{ManagedByLabel: ManagedBy}
	tests := map[string]struct {
		annotations, labels map[string]string
		want                ManagedByMode
	}{
		"what people run there":                 {nil, nil, ManagedByAgent},
		"a copy from before homes were written": {uid, managed, ManagedByHub},
		"a copy that is the hub's":              {m{HubAppUIDAnnotation: "u", ManagedByModeAnnotation: "hub"}, managed, ManagedByHub},
		"a copy that is the agent's":            {m{HubAppUIDAnnotation: "u", ManagedByModeAnnotation: "agent"}, managed, ManagedByAgent},
		"a copy with a mistyped mode":           {m{HubAppUIDAnnotation: "u", ManagedByModeAnnotation: "Agent"}, managed, ManagedByHub},
		"the agent's, stripped of its UID":      {m{ManagedByModeAnnotation: "agent"}, managed, ManagedByAgent},
		"the hub's, stripped of its UID":        {nil, managed, ManagedByHub},
		"the hub's, stripped of its label":      {uid, nil, ManagedByHub},
		"the agent's, stripped of both marks":   {m{ManagedByModeAnnotation: "agent"}, nil, ManagedByAgent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &EcommerceApp{}
			app.Annotations, app.Labels = tt.annotations, tt.labels
			if got := app.ManagedByMode(); got != tt.want {
				t.Errorf("home is %q, want %q", got, tt.want)
			}
		})
	}
	for mode, want := range map[Mode]ManagedByMode{"": ManagedByHub, ModeAgentless: ManagedByHub, ModeAgent: ManagedByAgent} {
		if got := mode.ManagedBy(); got != want {
			t.Errorf("mode %q is managed by %q, want %q", mode, got, want)
		}
	}
}

func TestInventoryLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status EcommerceAppStatus
		want   bool
	}{
		"never written":              {EcommerceAppStatus{}, true},
		"wiped but for a phase":      {EcommerceAppStatus{Phase: PhaseFailed}, true},
		"wiped but for the clusters": {EcommerceAppStatus{Clusters: []ClusterStatus{{Name: "eu"}}, ClusterCount: 1}, true},
		"only the clusters wiped":    {EcommerceAppStatus{ObservedGeneration: 2, ClusterCount: 1}, true},
		"one of two clusters wiped":  {EcommerceAppStatus{ObservedGeneration: 2, ClusterCount: 2, Clusters: []ClusterStatus{{Name: "eu"}}}, true},
		"placed":                     {EcommerceAppStatus{ObservedGeneration: 2, ClusterCount: 1, Clusters: []ClusterStatus{{Name: "eu"}}}, false},
		"placed nowhere":             {EcommerceAppStatus{ObservedGeneration: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (&EcommerceApp{Status: tt.status}).InventoryLost(); got != tt.want {
				t.Errorf("InventoryLost is %t, want %t", got, tt.want)
			}
		})
	}
}

func TestEnding(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deleted    bool
		protection string
		want       bool
	}{
		"alive":                 {false, "", false},
		"alive and protected":   {false, "true", false},
		"deleted":               {true, "", true},
		"deleted and protected": {true, "true", false},
		"another value":         {true, "false", true},
	} {
		a := &EcommerceApp{}
		a.Annotations = map[string]string{DeletionProtectionAnnotation: tt.protection}
		if tt.deleted {
			a.DeletionTimestamp = &metav1.Time{}
		}
		if got := a.Ending(); got != tt.want {
			t.Errorf("%s: Ending is %t, want %t", name, got, tt.want)
		}
	}
}

// TestVersionLabels: a version that is no value of a label is left out, or the Lease would be
// refused.
func TestVersionLabels(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]map[string]string{
		"v1.2.3-4-g1234567": {VersionLabel: "v1.2.3-4-g1234567"}, "v0.0.0-dev": {VersionLabel: "v0.0.0-dev"},
		"v1.2.3+dirty": nil, "": nil,
	} {
		if diff := cmp.Diff(want, VersionLabels(version)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", version, diff)
		}
	}
}
