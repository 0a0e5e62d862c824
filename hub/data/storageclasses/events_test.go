package storageclasses

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMemberChanged checks that only changes of facts about a member cause a pass, and other reports do not.
func TestMemberChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.MemberCluster)
		want   bool
	}{
		"own status": {func(m *v1.MemberCluster) {
			m.Status.Conditions[0].Status = metav1.ConditionTrue
			m.Status.StorageClasses = []v1.ProfileClass{{Profile: v1.StorageFast}}
		}, false},
		"nodes":                 {func(m *v1.MemberCluster) { m.Status.Nodes++ }, false},
		"the spec":              {func(m *v1.MemberCluster) { m.Generation++ }, true},
		"a provider":            {func(m *v1.MemberCluster) { m.Status.Provider = v1.ProviderGCP }, true},
		"a region":              {func(m *v1.MemberCluster) { m.Status.Region = "us-east-1" }, true},
		"a driver":              {func(m *v1.MemberCluster) { m.Status.Capabilities = []string{"x"} }, true},
		"a label":               {func(m *v1.MemberCluster) { m.Labels = map[string]string{"tier": "gold"} }, true},
		"permissions":           {func(m *v1.MemberCluster) { m.Status.Conditions[1].Status = metav1.ConditionTrue }, true},
		"the condition is gone": {func(m *v1.MemberCluster) { m.Status.Conditions = m.Status.Conditions[1:] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := inCloud(v1.ProviderAWS)
			before.Status.Conditions = []metav1.Condition{
				{Type: v1.ConditionStorageReady, Status: metav1.ConditionFalse}, {Type: v1.ConditionAuthorized, Status: metav1.ConditionFalse},
			}
			now := before.DeepCopy()
			tt.change(now)
			if got := memberChanged(before, now); got != tt.want {
				t.Errorf("changed %t, want %t", got, tt.want)
			}
		})
	}
}

// TestAppChanged checks that only another class or cluster causes a pass.
func TestAppChanged(t *testing.T) {
	t.Parallel()
	io2 := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: "io2"}}}
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   bool
	}{
		"an image":    {func(a *v1.EcommerceApp) { a.Generation++ }, false},
		"progress":    {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseRunning }, false},
		"a class":     {func(a *v1.EcommerceApp) { a.Spec.CloudConfig.AWS.EBS.Type = "gp3" }, true},
		"an override": {func(a *v1.EcommerceApp) { a.Spec.Overrides = []v1.Override{{Image: "shop:v2"}} }, true},
		"a cluster more": {func(a *v1.EcommerceApp) {
			a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: "us-1"})
		}, true},
		"another revision": {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Revision++ }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := app(io2)
			now := before.DeepCopy()
			tt.change(now)
			if got := appChanged(&before, now); got != tt.want {
				t.Errorf("changed %t, want %t", got, tt.want)
			}
		})
	}
}

// TestClustersWithClass checks that a pass over a member reads only the applications with a class of their own there.
func TestClustersWithClass(t *testing.T) {
	t.Parallel()
	plain, special, patched := app(v1.CloudConfig{}), app(v1.CloudConfig{AWS: &v1.AWSConfig{}}), app(v1.CloudConfig{})
	plain.Spec.Overrides = []v1.Override{{Image: "shop:v2"}}
	patched.Spec.Overrides = []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/a"}}}}
	earlier, own := app(v1.CloudConfig{}), app(v1.CloudConfig{})
	earlier.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Revision: 1}, {Name: "us-1", Revision: 2}, {Name: "us-2"}}
	earlier.Status.Rollout, own.Status.Rollout = &v1.RolloutStatus{Revision: 2}, &v1.RolloutStatus{Revision: 2}
	own.Status.Clusters[0].Revision = 2
	for name, a := range map[string]*v1.EcommerceApp{"its own": &special, "a patch": &patched, "an earlier revision": &earlier} {
		if diff := cmp.Diff([]string{"eu-1"}, clustersWithClass(a)); diff != "" {
			t.Errorf("with a class by %s (-want +got):\n%s", name, diff)
		}
	}
	for name, a := range map[string]*v1.EcommerceApp{"the spec": &plain, "the revision of the spec": &own} {
		if got := clustersWithClass(a); len(got) > 0 {
			t.Errorf("without a class by %s: %v", name, got)
		}
	}
}
