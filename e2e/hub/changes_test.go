package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// longestWait bounds all waits of the hub, except for the resync of copies. It adds up to 30 % by chance.
const longestWait = 3 * time.Second

// testUnchanged counts the writes of a restart, of applying the same again, and of
// everything looking at itself once more.
func (s *suite) testUnchanged(t *testing.T) {
	t.Helper()
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount)
	s.RestartHub(t)
	if err := s.Fleet.Hub().Apply(t.Context(), samples.EcommerceApp()); err != nil {
		t.Fatal(err)
	}
	// A new shop that runs everywhere shows that each member is engaged again and
	// that each queue has been through what was there before.
	framework.Canary(t, s.Hub, eu, asia, us)
	framework.Pause(t, 2*longestWait)

	for _, c := range s.Fleet.Clusters() {
		writes := s.Since(t, before, c).Writes()
		if about := writes.In(s.shop.Namespace); len(about) > 0 {
			t.Errorf("%s: writes about a shop that did not change:\n%s", c.Name(), about)
		}
		// The canary came and went: two changes of the number of applications. What pods request is
		// summed from time to time, and may have changed since. A conflict with one of them changes nothing.
		if about := writes.Of("memberclusters").Succeeded(); len(about) > 3*len(memberNames()) {
			t.Errorf("members did not change but for the canary:\n%s", about)
		}
		// The takeover, and the deletion of the canary.
		if about := writes.Of("configmaps").In(config.Namespace); c != s.Fleet.Hub() && len(about) != 2 {
			t.Errorf("%s: the record was not written twice:\n%s", c.Name(), about)
		}
		if about := writes.Of("customresourcedefinitions"); len(about) > 0 {
			t.Errorf("%s: definitions did not change:\n%s", c.Name(), about)
		}
	}
}

// testEdit scales the shop and sees the change in every member.
func (s *suite) testEdit(t *testing.T) {
	t.Helper()
	before := s.Mark(t)
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(4)) })
	s.AwaitRunning(t, s.shop, eu, asia, us)
	if s.shop.Status.Replicas != 4 {
		t.Errorf("status.replicas is %d, want the 4 of each cluster", s.shop.Status.Replicas)
	}
	scale := &autoscalingv1.Scale{}
	if err := s.Hub.SubResource("scale").Get(t.Context(), s.shop, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 4 || scale.Status.Replicas != 4 || scale.Status.Selector == "" {
		t.Errorf("/scale is %+v", scale)
	}
	for _, name := range memberNames() {
		frontend := &appsv1.Deployment{}
		key := client.ObjectKey{Namespace: s.shop.Namespace, Name: s.shop.Name + "-frontend"}
		if err := s.Members[name].Get(t.Context(), key, frontend); err != nil {
			t.Fatal(err)
		}
		if *frontend.Spec.Replicas != 4 {
			t.Errorf("%s: the frontend has %d replicas, want 4", name, *frontend.Spec.Replicas)
		}
		// One that competes with a status of the copy is refused, and repeated.
		log := s.Since(t, before, s.Fleet.Member(name)).Of("ecommerceapps").Writes().Succeeded()
		if n := len(log.Where(func(e audit.Event) bool { return e.Subresource == "" })); n != 1 {
			t.Errorf("%s: the copy was written %d times for one change:\n%s", name, n, log)
		}
	}
}

// testDrift changes and deletes copies in the members, by hand. A copy that keeps either its labels
// or its annotations is still known as one.
func (s *suite) testDrift(t *testing.T) {
	t.Helper()
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name}}
	for _, change := range []func(*v1.EcommerceApp){
		func(app *v1.EcommerceApp) {
			app.Spec.Frontend.Image, app.Annotations, app.Finalizers = "other:v1", nil, nil
		},
		func(app *v1.EcommerceApp) { app.Labels = nil },
	} {
		framework.Edit(t, s.Members["eu-1"], copied, change)
		framework.Await(t, s.Members["eu-1"], copied, "the copy to be put right", func(*v1.EcommerceApp) error {
			if copied.Spec.Frontend.Image != s.shop.Spec.Frontend.Image || copied.Annotations[v1.HubGenerationAnnotation] == "" ||
				copied.Annotations[v1.HubAppUIDAnnotation] == "" || copied.Labels[v1.ClusterLabel] != "eu-1" ||
				!slices.Contains(copied.Finalizers, v1.SpokeFinalizer) {
				return fmt.Errorf("image %q, annotations %v, labels %v, finalizers %v", copied.Spec.Frontend.Image, copied.Annotations, copied.Labels, copied.Finalizers)
			}
			return nil
		})
	}
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Finalizers = nil })
	framework.Await(t, s.Hub, s.shop, "the finalizer to be back", func(app *v1.EcommerceApp) error {
		if !slices.Contains(app.Finalizers, v1.HubFinalizer) {
			return errors.New("it is missing")
		}
		return nil
	})
	framework.Edit(t, s.Members["eu-1"], copied, func(app *v1.EcommerceApp) { app.Labels, app.Finalizers = nil, nil })
	framework.Await(t, s.Members["eu-1"], copied, "labels and finalizer to be restored", func(*v1.EcommerceApp) error {
		if copied.Labels[v1.ManagedByLabel] != v1.ManagedBy || !slices.Contains(copied.Finalizers, v1.SpokeFinalizer) {
			return fmt.Errorf("labels %v, finalizers %v", copied.Labels, copied.Finalizers)
		}
		return nil
	})

	if err := s.Members["us-1"].Get(t.Context(), client.ObjectKeyFromObject(copied), copied); err != nil {
		t.Fatal(err)
	}
	uid := copied.UID
	if err := s.Members["us-1"].Delete(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, s.Members["us-1"], copied, "the copy to be made again", func(*v1.EcommerceApp) error {
		if copied.UID == uid {
			return errors.New("the old one is there")
		}
		return nil
	})
	s.AwaitRunning(t, s.shop, eu, asia, us)
}

// testWipedStatus wipes the inventory, by hand: no entry is no reason to delete.
func (s *suite) testWipedStatus(t *testing.T) {
	t.Helper()
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount)
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), s.shop); err != nil {
		t.Fatal(err)
	}
	s.shop.Status = v1.EcommerceAppStatus{Phase: v1.PhaseFailed}
	if err := s.Hub.Status().Update(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)
	for _, name := range memberNames() {
		if writes := s.Since(t, before, s.Fleet.Member(name)).Writes().In(s.shop.Namespace); len(writes) > 0 {
			t.Errorf("%s: a status that was wiped on the hub led to writes:\n%s", name, writes)
		}
	}
}

// testAnnotations answers the annotations that ask for a restart and a reconciliation.
func (s *suite) testAnnotations(t *testing.T) {
	t.Helper()
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ImageUpdatedAnnotation, "true")
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ReconcileAtAnnotation, "now-and-here")
	})
	s.AwaitApp(t, s.shop, "both to be answered", func(status *v1.EcommerceAppStatus) error {
		if _, asked := s.shop.Annotations[v1.ImageUpdatedAnnotation]; asked {
			return errors.New("the request for a restart is still there")
		}
		if status.LastHandledReconcileAt != "now-and-here" {
			return fmt.Errorf("lastHandledReconcileAt is %q", status.LastHandledReconcileAt)
		}
		return nil
	})
	token := s.shop.Annotations[v1.RestartedAtAnnotation]
	if token == "" {
		t.Fatal("no token of a restart")
	}
	for _, name := range memberNames() {
		for _, part := range []string{"-frontend", "-backend"} {
			framework.Eventually(t, "the restart of "+part+" in "+name, func(ctx context.Context) error {
				workload := &appsv1.Deployment{}
				key := client.ObjectKey{Namespace: s.shop.Namespace, Name: s.shop.Name + part}
				if err := s.Members[name].Get(ctx, key, workload); err != nil {
					return err
				}
				if got := workload.Spec.Template.Annotations[v1.RestartedAtAnnotation]; got != token {
					return fmt.Errorf("the pods carry %q, want %q", got, token)
				}
				return nil
			})
		}
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)
	s.testRestartToken(t)
}

// testPlacement takes the shop out of a region, and back.
func (s *suite) testPlacement(t *testing.T) {
	t.Helper()
	s.ExpectDeletes(invariants.Expected{Cluster: "asia-1", Resource: "ecommerceapps", Namespace: s.shop.Namespace, Name: s.shop.Name})
	before := s.Mark(t)
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Placement.Regions = []string{eu, us} })
	s.AwaitApp(t, s.shop, "the shop to leave asia", func(status *v1.EcommerceAppStatus) error {
		if len(status.Clusters) != 2 {
			return fmt.Errorf("%d clusters", len(status.Clusters))
		}
		return nil
	})
	s.AwaitRunning(t, s.shop, eu, us)
	want := []v1.RejectedClusters{{Reason: v1.ReasonRegionNotListed, Clusters: 1, Examples: []string{"asia-1"}}}
	if diff := cmp.Diff(want, s.shop.Status.Placement.Rejected); diff != "" {
		t.Errorf("rejected clusters (-want +got):\n%s", diff)
	}
	deployments := &appsv1.DeploymentList{}
	if err := s.Members["asia-1"].List(t.Context(), deployments, client.InNamespace(s.shop.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) > 0 {
		t.Errorf("%d deployments are left in asia", len(deployments.Items))
	}
	if err := s.Members["asia-1"].Get(t.Context(), client.ObjectKey{Name: s.shop.Namespace}, &corev1.Namespace{}); err != nil {
		t.Errorf("the namespace in asia: %v", err)
	}
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Placement.Regions = nil })
	s.AwaitRunning(t, s.shop, eu, asia, us)
	for _, name := range []string{"eu-1", "us-1"} {
		log := s.Since(t, before, s.Fleet.Member(name)).Of("ecommerceapps").Writes()
		if n := len(log.Where(func(e audit.Event) bool { return e.Subresource == "" })); n != 0 {
			t.Errorf("%s: the copy was written %d times for edits of the placement:\n%s", name, n, log)
		}
	}
}

// testNodes adds nodes to a member, most of which then have another region and no providerID.
func (s *suite) testNodes(t *testing.T) {
	t.Helper()
	app := small("anchored")
	app.Spec.Placement = v1.Placement{ClusterCriteria: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS, v1.ProviderGCP}, Regions: []string{eu, us}}}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	before := framework.MarkSettled(t, s.Fleet, app.Namespace, config.HubServiceAccount)
	for i := range 3 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("new-%d", i), Labels: map[string]string{corev1.LabelTopologyRegion: asia},
		}}
		node.Spec.Unschedulable = true
		framework.Create(t, s.Members["us-1"], node)
		t.Cleanup(func() {
			if err := s.Members["us-1"].Delete(context.WithoutCancel(t.Context()), node); err != nil {
				t.Error(err)
			}
		})
	}
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}
	framework.Await(t, s.Hub, member, "the nodes to be counted", func(*v1.MemberCluster) error {
		if member.Status.Nodes != 5 {
			return fmt.Errorf("counts %d", member.Status.Nodes)
		}
		return nil
	})
	if member.Status.Provider != v1.ProviderGCP || member.Status.Region != us {
		t.Fatalf("us-1 is in region %q of %q, want no change", member.Status.Region, member.Status.Provider)
	}
	framework.Canary(t, s.Hub, eu, asia, us)
	if writes := s.Since(t, before, s.Fleet.Member("us-1")).Writes().Of("ecommerceapps").In(app.Namespace); len(writes) > 0 {
		t.Errorf("new nodes wrote to the copy:\n%s", writes)
	}
	s.Delete(t, app)
}

// testConflict meets an application of the same name that is not a copy.
func (s *suite) testConflict(t *testing.T) {
	t.Helper()
	foreign := small("contested")
	foreign.Spec.Image = "other:v1"
	foreign.Spec.Placement = v1.Placement{}
	framework.Create(t, s.Members["asia-1"], foreign.DeepCopy())
	app := small("contested", "asia-1")
	s.Create(t, app)
	s.AwaitApp(t, app, "the conflict to show", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "asia-1"); status.Phase != v1.PhaseFailed || c.Reason != v1.ReasonConflict {
			return errors.New("no conflict")
		}
		return nil
	})
	live := &v1.EcommerceApp{}
	if err := s.Members["asia-1"].Get(t.Context(), client.ObjectKeyFromObject(app), live); err != nil {
		t.Fatal(err)
	}
	if live.Spec.Image != "other:v1" || live.Annotations[v1.HubAppUIDAnnotation] != "" || len(live.Finalizers) > 0 || live.Status.ObservedGeneration != 0 {
		t.Errorf("the foreign object was touched: image %q, annotations %v, finalizers %v, status %v",
			live.Spec.Image, live.Annotations, live.Finalizers, live.Status)
	}
	// Handed over, it becomes the copy.
	before := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&live.ObjectMeta, v1.AdoptAnnotation, string(v1.AdoptAlways))
	if err := s.Members["asia-1"].Patch(t.Context(), live, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, app, asia)
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, "it to be gone", func(ctx context.Context) error {
		return errors.Join(framework.Gone(ctx, s.Hub, app), framework.Gone(ctx, s.Members["asia-1"], live))
	})
}

// testDetach takes the registration of a member away, and gives it back.
func (s *suite) testDetach(t *testing.T) {
	t.Helper()
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "asia-1"}}
	if err := s.Hub.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.AwaitApp(t, s.shop, "asia to be gone from the shop", func(status *v1.EcommerceAppStatus) error {
		if len(status.Clusters) != 2 || len(status.Placement.Rejected) != 1 {
			return errors.New("asia is there")
		}
		return nil
	})
	want := []v1.RejectedClusters{{Reason: v1.ReasonClusterDetached, Clusters: 1, Examples: []string{"asia-1"}}}
	if diff := cmp.Diff(want, s.shop.Status.Placement.Rejected); diff != "" {
		t.Errorf("rejected clusters (-want +got):\n%s", diff)
	}
	s.AwaitRunning(t, s.shop, eu, us)
	s.Register(t, "asia-1")
	s.AwaitRunning(t, s.shop, eu, asia, us)
	if writes := s.Since(t, before, s.Fleet.Member("asia-1")).Writes().In(s.shop.Namespace); len(writes) > 0 {
		t.Errorf("leaving the fleet and coming back wrote to the member:\n%s", writes)
	}
}

// testNamespaceTerminating creates an application in a namespace that is being deleted in
// the member, and lets the namespace go.
func (s *suite) testNamespaceTerminating(t *testing.T) {
	t.Helper()
	app := small("patient", "eu-1")
	app.Namespace = "ending"
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", Finalizers: []string{"example.com/hold"}}}
	if err := s.Members["eu-1"].Create(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	if err := s.Members["eu-1"].Delete(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	s.Create(t, app)
	s.AwaitApp(t, app, "the namespace to be named as the reason", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "eu-1"); c.Reason != v1.ReasonNamespaceTerminating || status.Phase != v1.PhaseCreating {
			return errors.New("not yet")
		}
		return nil
	})
	framework.Edit(t, s.Members["eu-1"], ending, func(n *corev1.Namespace) { n.Finalizers = nil })
	s.AwaitRunning(t, app, eu)
	s.Delete(t, app)
}
