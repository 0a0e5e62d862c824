package hub_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testRestartToken restarts by a token, which stays and is remembered, also after the status
// was lost.
func (s *suite) testRestartToken(t *testing.T) {
	t.Helper()
	remembered := func(status *v1.EcommerceAppStatus) error {
		if status.LastHandledImageUpdate != "release-7" || s.shop.Annotations[v1.RestartedAtAnnotation] != "release-7" {
			return fmt.Errorf("handled %q, restarted at %q", status.LastHandledImageUpdate, s.shop.Annotations[v1.RestartedAtAnnotation])
		}
		return nil
	}
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) {
		metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ImageUpdatedAnnotation, "release-7")
	})
	s.AwaitApp(t, s.shop, "the token to be handled", remembered)
	for _, name := range memberNames() {
		workload := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name + "-backend"}}
		framework.Await(t, s.Members[name], workload, "the restart by the token in "+name, func(d *appsv1.Deployment) error {
			if got := d.Spec.Template.Annotations[v1.RestartedAtAnnotation]; got != "release-7" {
				return fmt.Errorf("the pods carry %q", got)
			}
			return nil
		})
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount)
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), s.shop); err != nil {
		t.Fatal(err)
	}
	s.shop.Status.LastHandledImageUpdate = ""
	if err := s.Hub.Status().Update(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.AwaitApp(t, s.shop, "the token to be remembered again", remembered)
	for _, name := range memberNames() {
		if writes := s.Since(t, before, s.Fleet.Member(name)).Writes().In(s.shop.Namespace); len(writes) > 0 {
			t.Errorf("%s: a token that was handled led to writes:\n%s", name, writes)
		}
	}
	if s.shop.Annotations[v1.ImageUpdatedAnnotation] != "release-7" {
		t.Errorf("annotations %v", s.shop.Annotations)
	}
}
