package agent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testPlan plans another image. Where an agent is, the hub plans the copy with its permissions, and says
// that it does not know the children.
func (s *suite) testPlan(t *testing.T) {
	t.Helper()
	framework.Apply(t, s.Fleet.Hub(), "config/admission/hub")
	path := filepath.Join(t.TempDir(), "app.yaml")
	edited := bytes.ReplaceAll(samples.EcommerceApp(), []byte("ecommerce-backend:v2.0.0"), []byte("ecommerce-backend:v3"))
	if err := os.WriteFile(path, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	o := framework.CLI(t, s.Fleet.Hub(), "plan", "-f", path, "-o", "json").Want(t, framework.Found)
	var status v1.PlanStatus
	if err := json.Unmarshal([]byte(o.Out), &status); err != nil {
		t.Fatal(err)
	}
	for i := range status.Clusters {
		c := &status.Clusters[i]
		wantUnknown, wantChanges := "", 7
		if c.Name == us {
			wantUnknown, wantChanges = v1.ReasonManagedByAgent, 1
		}
		// Another step may have scaled the frontend.
		changed := slices.DeleteFunc(slices.Clone(c.Changes), func(change v1.PlannedChange) bool { return change.Name == s.shop.Name+"-frontend" })
		if c.Unknown != wantUnknown || len(changed) != wantChanges || int(c.Counts.Update) != len(c.Changes) {
			t.Errorf("%s: %+v, want %d updates besides the frontend and %q", c.Name, c, wantChanges, wantUnknown)
		}
	}
	if len(status.Clusters) != 2 || status.Counts.Unknown != 1 {
		t.Errorf("%+v", status.Counts)
	}
}
