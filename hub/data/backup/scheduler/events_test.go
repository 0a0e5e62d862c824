package scheduler

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// TestAppChanged checks that progress of components causes no pass.
func TestAppChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   bool
	}{
		"progress":      {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseRunning }, false},
		"a message":     {func(a *v1.EcommerceApp) { a.Status.Conditions[0].Message = "2 of 3" }, false},
		"the spec":      {func(a *v1.EcommerceApp) { a.Generation++ }, true},
		"a deletion":    {func(a *v1.EcommerceApp) { a.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		"an annotation": {func(a *v1.EcommerceApp) { a.Annotations = map[string]string{"a": "b"} }, true},
		"a cluster more": {func(a *v1.EcommerceApp) {
			a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: "us-1"})
		}, true},
		"a cluster leaves":     {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseDeleting }, true},
		"a lost database":      {func(a *v1.EcommerceApp) { a.Status.Clusters[0].DatabaseLost = true }, true},
		"an unknown origin":    {func(a *v1.EcommerceApp) { a.Status.Clusters[0].UnknownOrigin = "newer" }, true},
		"a database's version": {func(a *v1.EcommerceApp) { a.Status.Backups[0].Version = "17.3" }, true},
		"a condition":          {func(a *v1.EcommerceApp) { a.Status.Conditions[0].Status = metav1.ConditionTrue }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{
				Clusters:   []v1.ClusterStatus{{Name: "eu-1"}},
				Backups:    []v1.ClusterBackups{{Name: "eu-1", Version: "17.2"}},
				Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse}},
			}}
			now := before.DeepCopy()
			tt.change(now)
			if got := appChanged(before, now); got != tt.want {
				t.Errorf("changed %t, want %t", got, tt.want)
			}
		})
	}
}

// TestMemberChanged checks that changes of nodes and messages cause no passes of all applications in a member.
func TestMemberChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.MemberCluster)
		want   bool
	}{
		"nodes":      {func(m *v1.MemberCluster) { m.Status.Nodes++ }, false},
		"a message":  {func(m *v1.MemberCluster) { m.Status.Conditions[0].Message = "x" }, false},
		"storage":    {func(m *v1.MemberCluster) { m.Status.Conditions[1].Status = metav1.ConditionTrue }, false},
		"the spec":   {func(m *v1.MemberCluster) { m.Generation++ }, true},
		"a provider": {func(m *v1.MemberCluster) { m.Status.Provider = v1.ProviderAWS }, true},
		"a driver":   {func(m *v1.MemberCluster) { m.Status.Capabilities = []string{"csi:pd.csi.storage.gke.io"} }, false},
		"restores":   {func(m *v1.MemberCluster) { m.Status.Capabilities = []string{csi.CapabilitySnapshots} }, true},
		"a region":   {func(m *v1.MemberCluster) { m.Status.Region = "eu-west-1" }, true},
		"a label":    {func(m *v1.MemberCluster) { m.Labels = map[string]string{"tier": "test"} }, true},
		"known":      {func(m *v1.MemberCluster) { m.Status.ClusterUID = "c-1" }, true},
		"connected":  {func(m *v1.MemberCluster) { m.Status.Conditions[0].Status = metav1.ConditionTrue }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &v1.MemberCluster{Status: v1.MemberClusterStatus{Provider: v1.ProviderGCP, Conditions: []metav1.Condition{
				{Type: v1.ConditionConnected, Status: metav1.ConditionFalse}, {Type: v1.ConditionStorageReady, Status: metav1.ConditionFalse},
			}}}
			now := before.DeepCopy()
			tt.change(now)
			if got := memberChanged(before, now); got != tt.want {
				t.Errorf("changed %t, want %t", got, tt.want)
			}
		})
	}
}

// TestAccountChanged checks that only adding or removing the bucket causes a pass.
func TestAccountChanged(t *testing.T) {
	t.Parallel()
	none := &v1.CloudAccount{}
	with := &v1.CloudAccount{Spec: v1.CloudAccountSpec{ObjectStorage: &v1.ObjectStorage{Bucket: "a"}}}
	other := &v1.CloudAccount{Spec: v1.CloudAccountSpec{ObjectStorage: &v1.ObjectStorage{Bucket: "b"}}}
	if !accountChanged(none, with) || !accountChanged(with, none) || accountChanged(with, other) || accountChanged(none, none) {
		t.Error("want a change when the bucket comes or goes, and none otherwise")
	}
}
