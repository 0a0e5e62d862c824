package commands

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestOwnerOf: the EcommerceApp that adopts orphans has everything that the hub would change in
// them otherwise.
func TestOwnerOf(t *testing.T) {
	t.Parallel()
	same := func(*v1.EcommerceApp) {}
	for name, tt := range map[string]struct {
		first, second func(*v1.EcommerceApp)
		err           error
	}{
		"alike":                  {same, same, nil},
		"never restarted":        {restartedAt(""), restartedAt(""), nil},
		"of different specs":     {same, func(o *v1.EcommerceApp) { o.Spec.Image = "shop:v2" }, errSpecsDiffer},
		"one restarted":          {restartedAt(""), same, errSpecsDiffer},
		"restarted again in one": {same, restartedAt("2026-11-23T09:00:00Z"), errSpecsDiffer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := []v1.EcommerceApp{*listedOrphan("eu-1"), *listedOrphan("eu-2")}
			tt.first(&found[0])
			tt.second(&found[1])
			got, err := ownerOf(found)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if tt.err != nil {
				return
			}
			want := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "shop"}, Spec: found[0].Spec}
			want.Spec.Placement.ClusterNames = []string{"eu-1", "eu-2"}
			if restarted := found[0].Annotations[v1.RestartedAtAnnotation]; restarted != "" {
				want.Annotations = map[string]string{v1.RestartedAtAnnotation: restarted}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("EcommerceApp (-want +got):\n%s", diff)
			}
		})
	}
}

// restartedAt changes when the pods of an orphan were restarted.
func restartedAt(when string) func(*v1.EcommerceApp) {
	return func(o *v1.EcommerceApp) {
		o.Annotations[v1.RestartedAtAnnotation] = when
	}
}

// listedOrphan returns an orphan as the hub lists it, with what it derived from the cluster.
func listedOrphan(cluster string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "production", Name: "shop", UID: "u", Labels: map[string]string{v1.ClusterLabel: cluster},
			Annotations: map[string]string{v1.HubAppUIDAnnotation: "a", v1.RestartedAtAnnotation: "2026-11-23T08:00:00Z"},
		},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1", Database: &v1.Database{
			StorageClassName: new("fast"), Backup: v1.BackupPolicy{Enabled: true, Method: v1.BackupSnapshot},
		}},
	}
}
