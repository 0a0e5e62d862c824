package storageclasses

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// server returns a cluster on a real API server, which is hub and member at once, with a cache that has the index.
func server(t *testing.T) cluster.Cluster {
	t.Helper()
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, appsv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if err := hub.ApplyFolder(t.Context(), "../../../config/crd/bases"); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(hub.AdminConfig(), func(o *cluster.Options) { o.Scheme = scheme })
	if err == nil {
		err = c.GetFieldIndexer().IndexField(t.Context(), &v1.EcommerceApp{}, appsByCluster, clustersWithClass)
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestAClusterJoinsAfterARollback checks that a cluster that gets an earlier revision gets the class that its volumes
// are of, though the spec asks for another one or for none.
func TestAClusterJoinsAfterARollback(t *testing.T) {
	c := server(t)
	hub, store := c.GetClient(), revisions.New(c.GetClient(), c.GetAPIReader(), nil)
	recorder := events.NewFakeRecorder(10)
	s := New(hub, Options{Recorder: recorder, Revisions: store})
	m := &member{Storage: s, name: "us-1", cluster: c, applier: apply.New(apply.Options{Client: hub, Reader: c.GetAPIReader(), FieldManager: v1.HubFieldManager})}
	joined := inCloud(v1.ProviderAWS, csi.CapabilityDriver+csi.DriverEBS)
	joined.Name = m.name
	io2 := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: "io2", IOPS: new(int32(8000))}}}
	shop := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Rollout: &v1.Rollout{}, CloudConfig: io2},
	}
	status := joined.DeepCopy().Status
	err := errors.Join(hub.Create(t.Context(), joined), hub.Create(t.Context(), shop))
	joined.Status = status
	if err = errors.Join(err, hub.Status().Update(t.Context(), joined)); err != nil {
		t.Fatal(err)
	}
	first, err := store.Resolve(t.Context(), shop)
	if err == nil {
		err = store.Store(t.Context(), shop, first)
	}
	shop.Spec.Image, shop.Spec.CloudConfig = "shop:v2", v1.CloudConfig{}
	second, failed := store.Resolve(t.Context(), shop)
	if err = errors.Join(err, failed, hub.Update(t.Context(), shop)); err != nil {
		t.Fatal(err)
	}
	shop.Status = v1.EcommerceAppStatus{
		Rollout:  &v1.RolloutStatus{State: v1.RolloutRolledBack, Revision: second.Revision, PreviousRevision: first.Revision, SpecHash: second.Hash},
		Clusters: []v1.ClusterStatus{{Name: "eu-1", Revision: first.Revision}, {Name: m.name, Revision: first.Revision}},
	}
	if err := hub.Status().Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	want, err := csi.AppClass(csi.ClusterOf(joined), io2)
	if err != nil {
		t.Fatal(err)
	}
	awaitIndexed(t, hub, m.name)
	if _, err := m.Reconcile(t.Context(), m.request()); err != nil {
		t.Fatal(err)
	}
	if err := c.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(want), &storagev1.StorageClass{}); err != nil {
		t.Errorf("the class of revision %d: %v", first.Revision, err)
	}
}

// awaitIndexed blocks until the cache has the application and the member.
func awaitIndexed(t *testing.T, hub client.Client, name string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, fleettest.Timeout, true, func(ctx context.Context) (bool, error) {
		apps, cluster := &v1.EcommerceAppList{}, &v1.MemberCluster{}
		err := errors.Join(hub.List(ctx, apps, client.MatchingFields{appsByCluster: name}), client.IgnoreNotFound(hub.Get(ctx, client.ObjectKey{Name: name}, cluster)))
		return len(apps.Items) == 1 && cluster.Status.ClusterUID != "", err
	})
	if err != nil {
		t.Fatalf("the cache does not have the application for %s: %v", name, err)
	}
}
