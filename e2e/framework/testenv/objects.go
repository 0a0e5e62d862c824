package testenv

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// bound is a generous limit for what takes several controllers one after the other.
const bound = 2 * time.Minute

var (
	errExists      = errors.New("exists")
	errNotAnObject = errors.New("not an API object")
)

// Eventually blocks until a check returns nil.
func Eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Within(t, bound, what, check)
}

// Gone returns nil if an object does not exist.
func Gone(ctx context.Context, c client.Client, o client.Object) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("%T %s: %w", o, o.GetName(), errExists)
}

// Edit reads an object, changes it and patches the difference, as a person would.
func Edit[T client.Object](t *testing.T, c client.Client, o T, change func(T)) {
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

// Create creates an object on the hub, and its namespace where that is missing.
func (e *Environment) Create(t *testing.T, o client.Object) {
	t.Helper()
	if o.GetNamespace() != "" {
		e.CreateNamespace(t, o.GetNamespace())
	}
	if err := e.Hub.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// CreateNamespace creates a namespace on the hub where it is missing.
func (e *Environment) CreateNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(e.Hub.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
}

// Delete deletes an object of the hub and blocks until it is gone.
func (e *Environment) Delete(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Hub.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	Eventually(t, o.GetName()+" to be gone", func(ctx context.Context) error { return Gone(ctx, e.Hub, o) })
}

// AwaitMembers blocks until members are Ready.
func (e *Environment) AwaitMembers(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		m := &v1.MemberCluster{}
		Eventually(t, name+" to be Ready", func(ctx context.Context) error {
			if err := e.Hub.Get(ctx, client.ObjectKey{Name: name}, m); err != nil {
				return err
			}
			if c := framework.Condition(m.Status.Conditions, v1.ConditionReady); c.Status != metav1.ConditionTrue {
				return fmt.Errorf("it is not, because of %s: %s", c.Reason, c.Message)
			}
			return nil
		})
	}
}

// AwaitApp blocks until the status of an application is as check says, and leaves it in
// app.
func (e *Environment) AwaitApp(t *testing.T, app *v1.EcommerceApp, what string, check func(*v1.EcommerceAppStatus) error) {
	t.Helper()
	Eventually(t, what, func(ctx context.Context) error {
		if err := e.Hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if err := check(&app.Status); err != nil {
			return fmt.Errorf("%w; status is %s", err, framework.Brief(app))
		}
		return nil
	})
}

// AwaitRunning blocks until an application runs in these regions and in no others, at
// its current generation.
func (e *Environment) AwaitRunning(t *testing.T, app *v1.EcommerceApp, regions ...string) {
	t.Helper()
	e.AwaitApp(t, app, app.Name+" to run", func(*v1.EcommerceAppStatus) error { return framework.Runs(app, regions...) })
}
