package commands

import (
	"errors"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestVersionThatWaits checks that only a version that is being rolled out can be requested at once, and that the command fails
// when clusters wait and the hub has named no version yet.
func TestVersionThatWaits(t *testing.T) {
	t.Parallel()
	rolling := &v1.RolloutStatus{Revision: 3, State: v1.RolloutPaused}
	complete := &v1.RolloutStatus{Revision: 2, State: v1.RolloutComplete}
	held := v1.ClusterStatus{Name: "eu-1", HeldTemplates: true, Phase: v1.PhaseRunning}
	leftBehind := &v1.RolloutStatus{Revision: 2, State: v1.RolloutComplete, LeftBehind: []string{held.Name}}
	ofAgent := &v1.RolloutStatus{Revision: 2, State: v1.RolloutComplete, Message: "with an agent that renders another version: eu-1"}
	paused := v1.ClusterStatus{Name: "us-1", HeldTemplates: true, Phase: v1.PhasePaused}
	lost := v1.ClusterStatus{Name: "us-1", HeldTemplates: true, Phase: v1.PhaseUnknown}
	for name, tt := range map[string]struct {
		rendering *v1.RolloutStatus
		cluster   v1.ClusterStatus
		version   string
		err       error
	}{
		"a rollout":                    {rolling, held, "3", nil},
		"one that failed":              {&v1.RolloutStatus{Revision: 2, State: v1.RolloutFailed}, held, "2", nil},
		"none":                         {nil, v1.ClusterStatus{}, "", errNothingHeld},
		"the end of one":               {complete, v1.ClusterStatus{}, "", errNothingHeld},
		"one in a lost cluster":        {complete, lost, "", errNothingHeld},
		"one in a paused cluster":      {complete, paused, "", errNothingHeld},
		"one that was left behind":     {leftBehind, held, "", errNothingHeld},
		"one of an agent":              {ofAgent, held, "", errNothingHeld},
		"the next one is not decided":  {complete, held, "", errNoVersionYet},
		"the first one is not decided": {nil, held, "", errNoVersionYet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{}
			app.Status.Rendering, app.Status.Clusters = tt.rendering, []v1.ClusterStatus{tt.cluster}
			version, err := versionThatWaits(app)
			if version != tt.version || !errors.Is(err, tt.err) {
				t.Errorf("got %q and %v, want %q and %v", version, err, tt.version, tt.err)
			}
		})
	}
}
