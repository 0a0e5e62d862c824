package hub_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// seed returns the seed documents' shop.
func seed(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := yaml.UnmarshalStrict(samples.EcommerceApp(), app); err != nil {
		t.Fatal(err)
	}
	return app
}

// small returns a shop that is a frontend and nothing else.
func small(name string, clusters ...string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "small", Name: name},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Placement: v1.Placement{ClusterNames: clusters}},
	}
}

// namespace makes a namespace on the hub, if it is missing.
func (s *stage) namespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.hub.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (s *stage) create(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.namespace(t, app.Namespace)
	if err := s.hub.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

// edit changes an application on the hub, as a person would.
func (s *stage) edit(t *testing.T, app *v1.EcommerceApp, change func(*v1.EcommerceApp)) {
	t.Helper()
	if err := s.hub.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	before := app.DeepCopy()
	change(app)
	if err := s.hub.Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// await waits until the status of an application is as check says, and leaves it in app.
func (s *stage) await(t *testing.T, app *v1.EcommerceApp, what string, check func(*v1.EcommerceAppStatus) error) {
	t.Helper()
	fleettest.Within(t, 2*time.Minute, what, func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if err := check(&app.Status); err != nil {
			return fmt.Errorf("%w; status is %s", err, framework.Brief(app))
		}
		return nil
	})
}

// awaitRunning waits until an application runs, at its current generation, in regions.
func (s *stage) awaitRunning(t *testing.T, app *v1.EcommerceApp, regions ...string) {
	t.Helper()
	s.await(t, app, app.Name+" to run", func(status *v1.EcommerceAppStatus) error {
		if status.ObservedGeneration != app.Generation {
			return fmt.Errorf("generation %d is observed, want %d", status.ObservedGeneration, app.Generation)
		}
		return framework.Runs(status, regions...)
	})
}

// eventually waits for a check with a client.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Within(t, 2*time.Minute, what, check)
}

// gone checks that an object does not exist.
func gone(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err == nil {
		return fmt.Errorf("%T %s exists", o, o.GetName())
	}
	return client.IgnoreNotFound(err)
}
