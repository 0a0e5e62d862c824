package hub_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// unchanged counts the writes of a restart, of applying the same again, and of
// everything looking at itself once more.
func (s *story) unchanged(t *testing.T) {
	before := s.mark(t)
	s.restart(t)
	if err := s.fleet.Hub().Apply(t.Context(), samples.EcommerceApp()); err != nil {
		t.Fatal(err)
	}
	// A new shop that runs everywhere shows that each member is engaged again and
	// that each queue has been through what was there before.
	canary := small("canary")
	s.create(t, canary)
	s.awaitRunning(t, canary, eu, asia, us)
	if err := s.hub.Delete(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the canary to be gone", func(ctx context.Context) error { return gone(ctx, s.hub, canary) })

	for _, c := range s.fleet.Clusters() {
		writes := s.since(t, before, c).Writes()
		if about := writes.In(s.shop.Namespace); len(about) > 0 {
			t.Errorf("%s: writes about a shop that did not change:\n%s", c.Name(), about)
		}
		// The canary came and went: two changes of the number of applications.
		if about := writes.Of("memberclusters"); len(about) > 2*len(memberNames()) {
			t.Errorf("members did not change but for the canary:\n%s", about)
		}
		if about := writes.Of("customresourcedefinitions"); len(about) > 0 {
			t.Errorf("%s: definitions did not change:\n%s", c.Name(), about)
		}
	}
}

// edited scales the shop and sees the change in every member.
func (s *story) edited(t *testing.T) {
	before := s.mark(t)
	s.edit(t, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(4)) })
	s.awaitRunning(t, s.shop, eu, asia, us)
	if s.shop.Status.Replicas != 12 {
		t.Errorf("status.replicas is %d, want 3 clusters with 4 each", s.shop.Status.Replicas)
	}
	for _, name := range memberNames() {
		frontend := &appsv1.Deployment{}
		key := client.ObjectKey{Namespace: s.shop.Namespace, Name: s.shop.Name + "-frontend"}
		if err := s.members[name].Get(t.Context(), key, frontend); err != nil {
			t.Fatal(err)
		}
		if *frontend.Spec.Replicas != 4 {
			t.Errorf("%s: the frontend has %d replicas, want 4", name, *frontend.Spec.Replicas)
		}
		log := s.since(t, before, s.fleet.Member(name)).Of("ecommerceapps").Writes()
		if n := len(log.Where(func(e audit.Event) bool { return e.Subresource == "" })); n != 1 {
			t.Errorf("%s: the copy was written %d times for one change:\n%s", name, n, log)
		}
	}
}

// defended changes and deletes copies in the members, by hand.
func (s *story) defended(t *testing.T) {
	key := client.ObjectKeyFromObject(s.shop)
	copied := &v1.EcommerceApp{}
	if err := s.members["eu-1"].Get(t.Context(), key, copied); err != nil {
		t.Fatal(err)
	}
	before := copied.DeepCopy()
	copied.Spec.Frontend.Image = "somebody:else"
	delete(copied.Annotations, v1.HubGenerationAnnotation)
	delete(copied.Annotations, v1.HubAppUIDAnnotation)
	if err := s.members["eu-1"].Patch(t.Context(), copied, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy to be put right", func(ctx context.Context) error {
		if err := s.members["eu-1"].Get(ctx, key, copied); err != nil {
			return err
		}
		if copied.Spec.Frontend.Image != s.shop.Spec.Frontend.Image || copied.Annotations[v1.HubGenerationAnnotation] == "" ||
			copied.Annotations[v1.HubAppUIDAnnotation] == "" {
			return fmt.Errorf("image %q, annotations %v", copied.Spec.Frontend.Image, copied.Annotations)
		}
		return nil
	})

	if err := s.members["us-1"].Get(t.Context(), key, copied); err != nil {
		t.Fatal(err)
	}
	uid := copied.UID
	if err := s.members["us-1"].Delete(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy to be made again", func(ctx context.Context) error {
		if err := s.members["us-1"].Get(ctx, key, copied); err != nil {
			return err
		}
		if copied.UID == uid {
			return errors.New("the old one is there")
		}
		return nil
	})
	s.awaitRunning(t, s.shop, eu, asia, us)
}

// unforgettable wipes the inventory, by hand: no entry is no reason to delete.
func (s *story) unforgettable(t *testing.T) {
	before := s.mark(t)
	if err := s.hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), s.shop); err != nil {
		t.Fatal(err)
	}
	s.shop.Status = v1.EcommerceAppStatus{Phase: v1.PhaseFailed}
	if err := s.hub.Status().Update(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, s.shop, eu, asia, us)
	for _, name := range memberNames() {
		if writes := s.since(t, before, s.fleet.Member(name)).Writes().In(s.shop.Namespace); len(writes) > 0 {
			t.Errorf("%s: a status that was wiped on the hub led to writes:\n%s", name, writes)
		}
	}
}

// commanded answers the annotations that ask for a restart and a reconciliation.
func (s *story) commanded(t *testing.T) {
	s.edit(t, s.shop, func(app *v1.EcommerceApp) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ImageUpdatedAnnotation, "true")
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ReconcileAtAnnotation, "now-and-here")
	})
	s.await(t, s.shop, "both to be answered", func(status *v1.EcommerceAppStatus) error {
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
			eventually(t, "the restart of "+part+" in "+name, func(ctx context.Context) error {
				workload := &appsv1.Deployment{}
				key := client.ObjectKey{Namespace: s.shop.Namespace, Name: s.shop.Name + part}
				if err := s.members[name].Get(ctx, key, workload); err != nil {
					return err
				}
				if got := workload.Spec.Template.Annotations[v1.RestartedAtAnnotation]; got != token {
					return fmt.Errorf("the pods carry %q, want %q", got, token)
				}
				return nil
			})
		}
	}
	s.awaitRunning(t, s.shop, eu, asia, us)
}

// moved takes the shop out of a region, and back.
func (s *story) moved(t *testing.T) {
	s.edit(t, s.shop, func(app *v1.EcommerceApp) { app.Spec.Placement.Regions = []string{eu, us} })
	s.await(t, s.shop, "the shop to leave asia", func(status *v1.EcommerceAppStatus) error {
		if len(status.Clusters) != 2 {
			return fmt.Errorf("%d clusters", len(status.Clusters))
		}
		return nil
	})
	s.awaitRunning(t, s.shop, eu, us)
	rejected := s.shop.Status.Placement.Rejected
	if len(rejected) != 1 || rejected[0].Name != "asia-1" || rejected[0].Reason != v1.ReasonRegionNotListed {
		t.Errorf("rejected is %v, want asia-1 for its region", rejected)
	}
	deployments := &appsv1.DeploymentList{}
	if err := s.members["asia-1"].List(t.Context(), deployments, client.InNamespace(s.shop.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) > 0 {
		t.Errorf("%d deployments are left in asia", len(deployments.Items))
	}
	if err := s.members["asia-1"].Get(t.Context(), client.ObjectKey{Name: s.shop.Namespace}, &corev1.Namespace{}); err != nil {
		t.Errorf("the namespace in asia: %v", err)
	}
	s.edit(t, s.shop, func(app *v1.EcommerceApp) { app.Spec.Placement.Regions = nil })
	s.awaitRunning(t, s.shop, eu, asia, us)
}

// contested meets an application of the same name that is not a copy.
func (s *story) contested(t *testing.T) {
	foreign := small("contested")
	foreign.Spec.Image = "somebody:else"
	foreign.Spec.Placement = v1.Placement{}
	if err := s.members["asia-1"].Create(t.Context(), foreign.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	app := small("contested", "asia-1")
	s.create(t, app)
	s.await(t, app, "the conflict to show", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "asia-1"); status.Phase != v1.PhaseFailed || c.Reason != v1.ReasonConflict {
			return errors.New("no conflict")
		}
		return nil
	})
	live := &v1.EcommerceApp{}
	if err := s.members["asia-1"].Get(t.Context(), client.ObjectKeyFromObject(app), live); err != nil {
		t.Fatal(err)
	}
	if live.Spec.Image != "somebody:else" || live.Annotations[v1.HubAppUIDAnnotation] != "" || len(live.Finalizers) > 0 || live.Status.ObservedGeneration != 0 {
		t.Errorf("the foreign object was touched: image %q, annotations %v, finalizers %v, status %v",
			live.Spec.Image, live.Annotations, live.Finalizers, live.Status)
	}
	// Handed over, it becomes the copy.
	before := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&live.ObjectMeta, v1.AdoptAnnotation, "true")
	if err := s.members["asia-1"].Patch(t.Context(), live, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, app, asia)
	if err := s.hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it to be gone", func(ctx context.Context) error {
		return errors.Join(gone(ctx, s.hub, app), gone(ctx, s.members["asia-1"], live))
	})
}

// detached takes the registration of a member away, and gives it back.
func (s *story) detached(t *testing.T) {
	before := s.mark(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "asia-1"}}
	if err := s.hub.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.await(t, s.shop, "asia to be gone from the shop", func(status *v1.EcommerceAppStatus) error {
		if len(status.Clusters) != 2 || status.Placement.RejectedCount != 1 {
			return errors.New("asia is there")
		}
		return nil
	})
	if r := s.shop.Status.Placement.Rejected[0]; r.Name != "asia-1" || r.Reason != v1.ReasonClusterDetached {
		t.Errorf("rejected is %v, want asia-1 because it is detached", r)
	}
	s.awaitRunning(t, s.shop, eu, us)
	s.register(t, "asia-1")
	s.awaitRunning(t, s.shop, eu, asia, us)
	if writes := s.since(t, before, s.fleet.Member("asia-1")).Writes().In(s.shop.Namespace); len(writes) > 0 {
		t.Errorf("leaving the fleet and coming back wrote to the member:\n%s", writes)
	}
}

// blocked meets a namespace that is being deleted. The retry takes half a minute,
// in which the next chapter happens.
func (s *story) blocked(t *testing.T) {
	s.patient = small("patient", "eu-1")
	s.patient.Namespace = "ending"
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", Finalizers: []string{"example.com/hold"}}}
	if err := s.members["eu-1"].Create(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	if err := s.members["eu-1"].Delete(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	s.create(t, s.patient)
	s.await(t, s.patient, "the namespace to be blamed", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "eu-1"); c.Reason != v1.ReasonNamespaceTerminating || status.Phase != v1.PhaseCreating {
			return errors.New("not yet")
		}
		return nil
	})
	if err := s.members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(ending), ending); err != nil {
		t.Fatal(err)
	}
	before := ending.DeepCopy()
	ending.Finalizers = nil
	if err := s.members["eu-1"].Patch(t.Context(), ending, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// unblocked sees the shop come up in the namespace that was made anew.
func (s *story) unblocked(t *testing.T) {
	s.awaitRunning(t, s.patient, eu)
	if err := s.hub.Delete(t.Context(), s.patient); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it to be gone", func(ctx context.Context) error { return gone(ctx, s.hub, s.patient) })
}
