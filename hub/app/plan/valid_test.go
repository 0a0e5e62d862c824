package plan

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/crdschema"
)

// TestValid checks that whatever objects are in a member, the API server takes the status of the Plan.
func TestValid(t *testing.T) {
	t.Parallel()
	schema := crdschema.OfStatus(t, "../../../config/crd/bases/ecommerce.io_plans.yaml")
	long := strings.Repeat("long\n \xff", 1000)
	changes := []v1.PlannedChange{
		{Kind: "Service", Name: "shop", Action: v1.PlannedAction(v1.PendingCreate)},
		{Kind: long, Name: long, Action: v1.PlannedAction(v1.PendingDelete), Fields: strings.Split(long, " "), Reason: long, Message: long},
		{Kind: "Secret", Name: "db", Action: v1.PlannedAction(v1.PendingUpdate), Fields: []string{long}},
	}
	app := &v1.EcommerceApp{}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1"}}
	status := statusOf(answers{placed: Placed{App: app}, clusters: map[string]inCluster{"eu-1": {changes: changes, unknown: long, message: long}}})
	if err := schema.Validate(t, &status); err != nil {
		t.Error(err)
	}
	if got := status.Clusters[0].Changes; len(got) != 3 || got[0].Name != "shop" || len(changes[1].Name) != len(long) {
		t.Errorf("changes %+v", got)
	}
}
