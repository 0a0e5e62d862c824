package hub_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testProtection protects an application from its deletion: by the admission policies, and
// by the hub without them.
func (s *suite) testProtection(t *testing.T) {
	framework.Apply(t, s.Fleet.Hub(), "config/admission/hub")
	app := framework.Small("protected", "kept", "eu-1")
	app.Annotations = map[string]string{v1.DeletionProtectionAnnotation: "true"}
	s.Create(t, app)
	other := framework.Small("unprotected", "other", "eu-1")
	s.Create(t, other)
	s.awaitCopies(t, app, "eu-1")
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "memberclusters.ecommerce.io"}}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	const allow = "kubectl annotate ecommerceapp kept -n protected ecommerce.io/deletion-protection-"
	s.awaitDenied(t, app.DeepCopy(), allow)
	if err := s.Hub.DeleteAllOf(t.Context(), &v1.EcommerceApp{}, client.InNamespace(app.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("deleting all applications of a namespace: %v", err)
	}
	s.awaitDenied(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "protected"}}, allow)
	s.awaitDenied(t, definition, "kubectl annotate crd memberclusters.ecommerce.io ecommerce.io/deletion-protection-")
	framework.CLI(t, s.Fleet.Hub(), "delete", "kept", "-n", "protected", "--yes").
		Want(t, framework.Failed, allow)
	if err := s.Hub.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unprotected"}}, client.DryRunAll); err != nil {
		t.Errorf("deleting a namespace without protected applications: %v", err)
	}
	s.Delete(t, other)
	s.testHeld(t, app)
}

// testHeld deletes a protected application and its namespace past the policies.
func (s *suite) testHeld(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	for _, name := range []string{"applications", "definitions", "namespaces"} {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "shopfleet-deletion-protection-" + name}}
		if err := s.Hub.Delete(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Mark(t)
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace}}
	framework.Eventually(t, "the policies to be gone", func(ctx context.Context) error {
		return errors.Join(s.Hub.Delete(ctx, app.DeepCopy()), s.Hub.Delete(ctx, ending))
	})
	held := framework.AwaitCondition(t, s.Hub, app, metav1.Condition{
		Type: v1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: v1.ReasonProtected,
	})
	if !strings.Contains(held.Message, v1.DeletionProtectionAnnotation) {
		t.Errorf("condition %+v does not name the annotation", held)
	}
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Image = "shop:v2" })
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	framework.Await(t, s.Members["eu-1"], copied, "the copy to follow", func(copied *v1.EcommerceApp) error {
		if copied.Spec.Image != "shop:v2" || copied.DeletionTimestamp != nil {
			return errors.New("not yet")
		}
		return nil
	})
	if deleted := s.Since(t, before, s.Fleet.Member("eu-1")).Deletes(); len(deleted) > 0 {
		t.Errorf("eu-1: deleted %v of a protected application", deleted)
	}
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { delete(app.Annotations, v1.DeletionProtectionAnnotation) })
	s.awaitGone(t, app, "eu-1")
	framework.AwaitGone(t, s.Hub, ending)
}

// awaitDenied waits until the deletion of an object is denied, with the command that allows it.
func (s *suite) awaitDenied(t *testing.T, o client.Object, says string) {
	t.Helper()
	framework.Eventually(t, "the deletion of "+o.GetName()+" to be denied", func(ctx context.Context) error {
		err := s.Hub.Delete(ctx, o, client.DryRunAll)
		if err == nil {
			return errors.New("it is allowed")
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says) {
			return err
		}
		return nil
	})
}
