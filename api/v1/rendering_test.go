package v1

import "testing"

// TestRenderingSummary: the status of an application says who waits for the version of the pod templates, while any does.
func TestRenderingSummary(t *testing.T) {
	t.Parallel()
	app := &EcommerceApp{}
	app.Status.Clusters = []ClusterStatus{{Name: "a"}, {Name: "b", HeldTemplates: true}, {Name: "c", HeldTemplates: true}}
	for want, r := range map[string]*RolloutStatus{
		"": {Revision: 2, State: RolloutComplete},
		"Version 2 of the pod templates: WaitingForApproval, 1 of 3 clusters have it: waiting for approval of us; pods of an earlier version in b, c.": {
			Revision: 2, State: RolloutWaitingForApproval, Updated: 1, Total: 3, Message: "waiting for approval of us",
		},
	} {
		app.Status.Rendering = r
		if got := app.Status.RenderingSummary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	app.Status.Rendering = nil
	if got := app.Status.RenderingSummary(); got != "" {
		t.Errorf("without a version: %q", got)
	}
	app.Status.Rendering, app.Status.Clusters = &RolloutStatus{Revision: 2, State: RolloutComplete, Updated: 2, Total: 2, Message: "with an agent that renders another version: c"}, nil
	if got, want := app.Status.RenderingSummary(), "Version 2 of the pod templates: Complete, 2 of 2 clusters have it: with an agent that renders another version: c."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
