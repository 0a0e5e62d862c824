package framework

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

var (
	errExists      = errors.New("exists")
	errNotAnObject = errors.New("not an API object")
	errDiffers     = errors.New("it differs")
)

// Eventually blocks until a check returns nil.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Eventually(t, what, check)
}

// Await blocks until an object is as check says, and leaves it in o.
func Await[T client.Object](t testing.TB, c client.Reader, o T, what string, check func(T) error) {
	t.Helper()
	Eventually(t, what, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		return check(o)
	})
}

// Gone returns nil if an object does not exist.
func Gone(ctx context.Context, c client.Reader, o client.Object) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("%T %s: %w", o, o.GetName(), errExists)
}

// AwaitGone blocks until an object does not exist.
func AwaitGone(t testing.TB, c client.Reader, o client.Object) {
	t.Helper()
	Eventually(t, o.GetName()+" to be gone", func(ctx context.Context) error { return Gone(ctx, c, o) })
}

// DeleteDefinition deletes a CustomResourceDefinition if it exists, which a policy protects until its
// annotation is removed.
func DeleteDefinition(t testing.TB, c client.Writer, definition client.Object) {
	t.Helper()
	unprotect := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1.DeletionProtectionAnnotation+`":null}}}`))
	Eventually(t, definition.GetName()+" to be deleted", func(ctx context.Context) error {
		if err := c.Patch(ctx, definition.DeepCopyObject().(client.Object), unprotect); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(c.Delete(ctx, definition))
	})
}

// Create creates an object, and its namespace where that is missing.
func Create(t testing.TB, c client.Writer, o client.Object) {
	t.Helper()
	if o.GetNamespace() != "" {
		CreateNamespace(t, c, o.GetNamespace())
	}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// CreateNamespace creates a namespace where it is missing.
func CreateNamespace(t testing.TB, c client.Writer, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
}

// Edit reads an object, changes it and patches the difference, as a person would.
func Edit[T client.Object](t testing.TB, c client.Client, o T, change func(T)) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T: %v", o, errNotAnObject)
	}
	change(o)
	if err := c.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// Delete deletes an object and blocks until it is gone.
func Delete(t testing.TB, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	AwaitGone(t, c, o)
}

// AwaitCondition blocks until a condition of an object has the status and, if given,
// the reason that are wanted. It leaves the object in o and returns the condition.
func AwaitCondition(t testing.TB, c client.Reader, o client.Object, want metav1.Condition) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	what := fmt.Sprintf("%T %s to be %s=%s %s", o, o.GetName(), want.Type, want.Status, want.Reason)
	Await(t, c, o, what, func(client.Object) error {
		found = Condition(conditionsOf(o), want.Type)
		if found.Status != want.Status || want.Reason != "" && found.Reason != want.Reason {
			return fmt.Errorf("%w: %+v", errDiffers, conditionsOf(o))
		}
		return nil
	})
	return found
}

// conditionsOf returns the conditions of an object of Shopfleet.
func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1.CloudAccount:
		return o.Status.Conditions
	case *v1.MemberCluster:
		return o.Status.Conditions
	case *v1.EcommerceApp:
		return o.Status.Conditions
	case *v1.Backup:
		return o.Status.Conditions
	case *v1.Restore:
		return o.Status.Conditions
	default:
		return nil
	}
}

// AwaitApp blocks until the status of an application is as check says, and leaves it in
// app.
func AwaitApp(t testing.TB, c client.Reader, app *v1.EcommerceApp, what string, check func(*v1.EcommerceAppStatus) error) {
	t.Helper()
	Await(t, c, app, what, func(*v1.EcommerceApp) error {
		if err := check(&app.Status); err != nil {
			return fmt.Errorf("%w; status is %s", err, Brief(app))
		}
		return nil
	})
}

// AwaitRunning blocks until an application runs in these regions and in no others, at its
// current generation. A copy, and an application without a hub, have no regions.
func AwaitRunning(t testing.TB, c client.Reader, app *v1.EcommerceApp, regions ...string) {
	t.Helper()
	AwaitApp(t, c, app, app.Name+" to run", func(*v1.EcommerceAppStatus) error { return Runs(app, regions...) })
}

// Small returns an application that is a frontend and nothing else.
func Small(namespace, name string, clusters ...string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: clusters}}},
	}
}

// Canary creates a small application, blocks until it runs in the regions, and deletes it.
// By then each controller has been through what was there before.
func Canary(t testing.TB, c client.Client, regions ...string) {
	t.Helper()
	app := Small("canary", "canary")
	Create(t, c, app)
	AwaitRunning(t, c, app, regions...)
	Delete(t, c, app)
}

// Create creates an object on the hub, and its namespace where that is missing.
func (e *Environment) Create(t testing.TB, o client.Object) {
	t.Helper()
	Create(t, e.Hub, o)
}

// Delete deletes an object of the hub and blocks until it is gone.
func (e *Environment) Delete(t testing.TB, o client.Object) {
	t.Helper()
	Delete(t, e.Hub, o)
}

// AwaitMembers blocks until members are Ready.
func (e *Environment) AwaitMembers(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		AwaitCondition(t, e.Hub, m, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue})
	}
}

// AwaitApp blocks until the status of an application on the hub is as check says.
func (e *Environment) AwaitApp(t testing.TB, app *v1.EcommerceApp, what string, check func(*v1.EcommerceAppStatus) error) {
	t.Helper()
	AwaitApp(t, e.Hub, app, what, check)
}

// AwaitRunning blocks until an application on the hub runs in these regions and in no others.
func (e *Environment) AwaitRunning(t testing.TB, app *v1.EcommerceApp, regions ...string) {
	t.Helper()
	AwaitRunning(t, e.Hub, app, regions...)
}
