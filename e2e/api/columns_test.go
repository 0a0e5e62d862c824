package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// testColumns tests the output of kubectl get and kubectl api-resources.
func (s *server) testColumns(t *testing.T) {
	type row struct {
		kind       kind
		short      string
		categories []string
		columns    string
		wide       string
	}
	both, ours := []string{"all", "shopfleet"}, []string{"shopfleet"}
	for _, test := range []row{
		{ecommerceApps(), "eapp", both, "Name Phase Ready Clusters Regions Age", "Image Last Backup Available Stalled Rollout Message"},
		{memberClusters(), "mcl", ours, "Name Ready Reason Scheduling Paused Provider Region Version Age", "Mode Nodes Apps Orphans Message"},
		{cloudAccounts(), "cacc", ours, "Name Ready Reason Provider Identity Bucket Age", "Message"},
		{backups(), "ebk", ours, "Name App Cluster Phase Size Taken Age", "Step Consistency Verified Message"},
		{restores(), "erst", ours, "Name Backup Cluster Phase Age", "Step Message"},
		{plans(), "epl", ours, "Name Requester Ready Reason Age", "Message"},
		{webApps(), "wa", both, "Name Phase Desired Available Age", "Image"},
		{mySQLClusters(), "myc", both, "Name Phase Ready Version Storage Age", "Message"},
	} {
		t.Run(test.kind.name, func(t *testing.T) {
			var columns, wide []string
			for _, column := range s.table(t, test.kind).ColumnDefinitions {
				if column.Priority == 0 {
					columns = append(columns, column.Name)
				} else {
					wide = append(wide, column.Name)
				}
			}
			if diff := cmp.Diff([]string{test.columns, test.wide}, []string{strings.Join(columns, " "), strings.Join(wide, " ")}); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			want := metav1.APIResource{
				Name: test.kind.resource.Resource, SingularName: strings.ToLower(test.kind.name), Kind: test.kind.name,
				Namespaced: !test.kind.clusterScoped, ShortNames: []string{test.short}, Categories: test.categories,
			}
			got := s.discover(t, test.kind)
			got.StorageVersionHash, got.Verbs = "", nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("discovery (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("cells", s.testCells)
	t.Run("cells of a member", s.testMemberCells)
	t.Run("cells of a backup", s.testBackupCells)
}

// testCells tests the row of a running application.
func (s *server) testCells(t *testing.T) {
	k := ecommerceApps()
	s.namespace(t, "columns")
	created := s.create(t.Context(), t, k, edits{"metadata.namespace": "columns"})
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Because","message":"","lastTransitionTime":"2026-11-24T08:00:00Z"}`, kind, status)
	}
	s.writeStatus(t, k, created, `{"phase":"Running","ready":"2/3","clusterCount":3,"regionCount":2,"message":"Application is running",
		"lastBackupTime":"2026-11-24T02:00:00Z",
		"rollout":{"revision":1,"specHash":"a","state":"Progressing","total":3,"updated":1},
		"conditions":[`+condition("Available", "True")+`,`+condition("Stalled", "False")+`]}`)
	table := s.table(t, k, "namespaces", "columns")
	if len(table.Rows) != 1 {
		t.Fatalf("got %d rows, want 1", len(table.Rows))
	}
	got := table.Rows[0].Cells
	if since, is := got[7].(string); !is || since == "" {
		t.Errorf("the last backup is %v, want how long it is ago", got[7])
	}
	got[5], got[7] = nil, nil // The age, and that of the last backup.
	want := []any{"my-ecommerce-app", "Running", "2/3", int64(3), int64(2), nil, "ecommerce-frontend:v2.0.0", nil, "True", "False", "Progressing", "Application is running"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	t.Run("image of the spec", func(t *testing.T) {
		s.namespace(t, "column-image")
		s.create(t.Context(), t, k, edits{"metadata.namespace": "column-image", "spec.frontend.image": absent(), "spec.image": "shop:v3"})
		if got := s.table(t, k, "namespaces", "column-image").Rows[0].Cells; got[6] != "shop:v3" || got[7] != nil {
			t.Errorf("image %v, last backup %v; want shop:v3, and no backup", got[6], got[7])
		}
	})
}

// testBackupCells tests the rows of a backup that was not begun, and of one that stands at its second step.
func (s *server) testBackupCells(t *testing.T) {
	k := backups()
	for namespace, test := range map[string]struct {
		status string
		want   any
	}{
		"column-new":    {`{}`, nil},
		"column-copies": {`{"steps":[{"name":"Begin","startTime":"2026-11-24T08:00:00Z","endTime":"2026-11-24T08:00:01Z"},{"name":"Snapshot","startTime":"2026-11-24T08:00:01Z"}]}`, "Snapshot"},
	} {
		s.namespace(t, namespace)
		s.writeStatus(t, k, s.create(t.Context(), t, k, edits{"metadata.namespace": namespace}), test.status)
		if got := s.table(t, k, "namespaces", namespace).Rows[0].Cells[7]; got != test.want {
			t.Errorf("%s: the step is %v, want %v", namespace, got, test.want)
		}
	}
}

// testMemberCells tests the rows of members that take no applications, or that the hub does not write to.
func (s *server) testMemberCells(t *testing.T) {
	k := memberClusters()
	for name, e := range map[string]edits{
		"column-open":     {"spec.scheduling": absent(), "spec.paused": absent()},
		"column-cordoned": {"spec.scheduling": "Cordoned"},
		"column-paused":   {"spec.paused": true},
	} {
		s.create(t.Context(), t, k, edits{"metadata.name": name}, e)
	}
	want := map[string][2]any{"column-open": {nil, nil}, "column-cordoned": {"Cordoned", nil}, "column-paused": {nil, true}}
	got := map[string][2]any{}
	for _, row := range s.table(t, k).Rows {
		if name := row.Cells[0].(string); strings.HasPrefix(name, "column-") {
			got[name] = [2]any{row.Cells[3], row.Cells[4]}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scheduling and paused (-want +got):\n%s", diff)
	}
}

// table lists the kind's objects as kubectl get does.
func (s *server) table(t *testing.T, k kind, scope ...string) *metav1.Table {
	t.Helper()
	version := k.resource.GroupVersion()
	path := append([]string{"/apis", version.String()}, append(scope, k.resource.Resource)...)
	raw, err := s.discovery.RESTClient().(*rest.RESTClient).Get().AbsPath(path...).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := decodeJSON(raw, table); err != nil {
		t.Fatal(err)
	}
	return table
}

// discover returns how discovery describes the kind, after checking the subresources.
func (s *server) discover(t *testing.T, k kind) metav1.APIResource {
	t.Helper()
	resources, err := s.discovery.ServerResourcesForGroupVersion(k.resource.GroupVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metav1.APIResource{}
	for _, resource := range resources.APIResources {
		found[resource.Name] = resource
	}
	subresources := []string{"status"}
	if k.scaled != "" {
		subresources = append(subresources, "scale")
	}
	for _, subresource := range subresources {
		if _, served := found[fmt.Sprintf("%s/%s", k.resource.Resource, subresource)]; !served {
			t.Errorf("/%s is not served", subresource)
		}
	}
	return found[k.resource.Resource]
}
