package v1

import "testing"

// TestHome: of hub and agent exactly one has an application, whatever it says.
func TestHome(t *testing.T) {
	t.Parallel()
	type m = map[string]string
	uid, managed := m{HubAppUIDAnnotation: "u"}, m{ManagedByLabel: ManagedBy}
	tests := map[string]struct {
		annotations, labels map[string]string
		want                Home
	}{
		"what people run there":                 {nil, nil, HomeAgent},
		"a copy from before homes were written": {uid, managed, HomeHub},
		"a copy that is the hub's":              {m{HubAppUIDAnnotation: "u", HomeAnnotation: "hub"}, managed, HomeHub},
		"a copy that is the agent's":            {m{HubAppUIDAnnotation: "u", HomeAnnotation: "agent"}, managed, HomeAgent},
		"a copy that somebody mistyped":         {m{HubAppUIDAnnotation: "u", HomeAnnotation: "Agent"}, managed, HomeHub},
		"the agent's, stripped of its UID":      {m{HomeAnnotation: "agent"}, managed, HomeAgent},
		"the hub's, stripped of its UID":        {nil, managed, HomeHub},
		"the hub's, stripped of its label":      {uid, nil, HomeHub},
		"the agent's, stripped of both marks":   {m{HomeAnnotation: "agent"}, nil, HomeAgent},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &EcommerceApp{}
			app.Annotations, app.Labels = tt.annotations, tt.labels
			if got := app.Home(); got != tt.want {
				t.Errorf("home is %q, want %q", got, tt.want)
			}
		})
	}
	for mode, want := range map[Mode]Home{"": HomeHub, ModeAgentless: HomeHub, ModeAgent: HomeAgent} {
		if got := mode.Home(); got != want {
			t.Errorf("mode %q is at home at %q, want %q", mode, got, want)
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
