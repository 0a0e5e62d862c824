package hub_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members/record"
)

// testRestoredHub gives a member what a hub wrote there after the backup that the hub was
// restored from: a newer copy, a copy of an application that the hub has under another UID,
// and the deletion of an application.
func (s *suite) testRestoredHub(t *testing.T) {
	newer, anew, gone := small("newer", "eu-1"), small("created-anew", "eu-1"), small("gone", "eu-1")
	s.Create(t, newer)
	s.awaitCopies(t, newer, "eu-1")
	s.StopHub()
	s.editCopy(t, newer, func(copied *v1.EcommerceApp) {
		copied.Annotations[v1.HubGenerationAnnotation], copied.Spec.Image = "99", "shop:v9"
	})
	other := anew.DeepCopy()
	other.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	other.Annotations = map[string]string{v1.HubAppUIDAnnotation: "of-old", v1.HubGenerationAnnotation: "5"}
	other.Spec.Image, other.Spec.Placement = "shop:v9", v1.Placement{}
	framework.Create(t, s.Members["eu-1"], other)
	s.Create(t, anew)
	s.Create(t, gone)
	s.recordDeletion(t, gone)

	s.StartHub(t)
	s.awaitReason(t, newer, v1.ReasonNewerInMember)
	s.awaitReason(t, anew, v1.ReasonNewerInMember)
	s.awaitReason(t, gone, v1.ReasonDeletedInMember)
	for _, app := range []*v1.EcommerceApp{newer, anew} {
		if image := s.copyIn(t, "eu-1", app).Spec.Image; image != "shop:v9" {
			t.Errorf("the newer copy of %s got the image %s", app.Name, image)
		}
	}
	if err := framework.Gone(t.Context(), s.Members["eu-1"], gone.DeepCopy()); err != nil {
		t.Errorf("an application that was deleted runs again: %v", err)
	}

	for app, accepted := range map[*v1.EcommerceApp]string{
		newer: string(newer.UID) + "/99", anew: "of-old/5", gone: string(gone.UID) + "/deleted",
	} {
		framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
			metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.RecoverAnnotation, accepted)
		})
		s.AwaitRunning(t, app, eu)
		if image := s.copyIn(t, "eu-1", app).Spec.Image; image != "shop:v1" {
			t.Errorf("the copy of %s keeps the image %s", app.Name, image)
		}
		s.Delete(t, app)
	}
}

func (s *suite) copyIn(t *testing.T, member string, app *v1.EcommerceApp) *v1.EcommerceApp {
	t.Helper()
	copied := &v1.EcommerceApp{}
	if err := s.Members[member].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

func (s *suite) editCopy(t *testing.T, app *v1.EcommerceApp, change func(*v1.EcommerceApp)) {
	t.Helper()
	framework.Edit(t, s.Members["eu-1"], app.DeepCopy(), change)
}

// recordDeletion adds a deletion to the record in eu-1.
func (s *suite) recordDeletion(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
	framework.Edit(t, s.Members["eu-1"], kept, func(kept *corev1.ConfigMap) {
		r, err := record.Parse(kept.Data)
		if err != nil {
			t.Fatal(err)
		}
		kept.Data = r.Delete(app.UID, time.Now()).Data()
	})
}

func (s *suite) awaitReason(t *testing.T, app *v1.EcommerceApp, reason string) {
	t.Helper()
	s.AwaitApp(t, app, reason+" to show", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "eu-1"); c.Reason != reason {
			return fmt.Errorf("%s %q: %w", c.Reason, c.Message, errOtherReason)
		}
		return nil
	})
}

var errOtherReason = errors.New("another reason")
