package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestEffective: a member has its share of divided replicas, and the total without one.
func TestEffective(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Replicas: new(int32(9))}}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Share: &v1.ReplicaShare{Frontend: new(int32(6))}}}
	for member, want := range map[string]int32{"eu-1": 6, "us-1": 9} {
		spec, err := effective(app, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}})
		if err != nil || *spec.Replicas != want {
			t.Errorf("%s: replicas %d, %v; want %d", member, *spec.Replicas, err, want)
		}
	}
}
