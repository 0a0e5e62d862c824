package printers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	clusters := []ClusterDiff{
		{Name: "asia-1"},
		{Name: "eu-1", PendingChangeCount: 5, Changes: []v1.PendingChange{
			{Kind: "Deployment", Name: "shop-frontend", Action: v1.PendingUpdate, Fields: []string{"spec.replicas: 3 -> 5", `spec.args: "a -> b" -> "c"`}},
			{Kind: "Secret", Name: "shop-login", Action: v1.PendingUpdate, Fields: []string{"data.key"}},
			{Kind: "Service", Name: "shop-backend", Action: v1.PendingCreate},
			{Kind: "ConfigMap", Name: "shop-old", Action: v1.PendingDelete},
		}},
		{Name: "us-1", PendingChangeCount: 1, Changes: []v1.PendingChange{{Kind: "PersistentVolumeClaim", Name: "data-0", Action: v1.PendingExpand,
			Fields: []string{"spec.resources.requests.storage: 10Gi -> 20Gi"}}}},
	}
	want := `--- EcommerceApp shops/shop in eu-1
+++ EcommerceApp shops/shop on the hub
@@ update Deployment/shop-frontend @@
-spec.replicas: 3
+spec.replicas: 5
 spec.args: "a -> b" -> "c"
@@ update Secret/shop-login @@
 data.key
+Service/shop-backend
-ConfigMap/shop-old
# 1 more, which the status does not list
--- EcommerceApp shops/shop in us-1
+++ EcommerceApp shops/shop on the hub
@@ expand PersistentVolumeClaim/data-0 @@
-spec.resources.requests.storage: 10Gi
+spec.resources.requests.storage: 20Gi
`
	if diff := cmp.Diff(want, Diff("EcommerceApp shops/shop", clusters)); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	if text := Diff("EcommerceApp shops/shop", clusters[:1]); text != "" {
		t.Errorf("without changes it prints %q", text)
	}
}
