package kind

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// missingImage cannot be pulled: no registry listens at this address of the node.
const missingImage = "127.0.0.1:1/storefront:missing"

// testRollout rolls a bad image out while customers order all the time. The first region takes it back,
// the other one is not changed, and no customer of either sees an error.
func (e *environment) testRollout(t *testing.T) {
	t.Helper()
	first, other := e.regions[0], e.regions[1]
	e.change(t, fmt.Sprintf(`{"spec":{"rollout":{"order":[%q],"soak":"5s","progressDeadline":"45s"}}}`, first.Region))
	e.awaitRollout(t, shop, v1.RolloutComplete)
	app, err := e.app(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	good := app.Spec.Frontend.Image
	before, err := other.pods(t.Context(), "frontend")
	if err != nil {
		t.Fatal(err)
	}
	customersOf := map[string]*customers{}
	for _, r := range e.regions {
		customersOf[r.name] = r.sendCustomers(t, shop)
	}
	e.change(t, fmt.Sprintf(`{"spec":{"frontend":{"image":%q}}}`, missingImage))
	e.awaitRollout(t, shop, v1.RolloutRolledBack)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			placed, stored := customersOf[r.name].end(t), r.inDatabase(t, shop)
			for _, id := range placed {
				if !slices.Contains(stored, id) {
					t.Errorf("order %s is lost", id)
				}
			}
			r.all(t, "frontend", good)
		})
	}
	after, err := other.pods(t.Context(), "frontend")
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) || after[0].UID != before[0].UID {
		t.Errorf("%s has other pods than before, although the image never got there", other.name)
	}
	e.change(t, fmt.Sprintf(`{"spec":{"frontend":{"image":%q}}}`, good))
	e.awaitRollout(t, shop, v1.RolloutComplete)
	e.change(t, `{"spec":{"rollout":null}}`)
	e.running(t, shop)
}

// testBlueGreen replaces the pods of all frontends at once while customers order all the time. None of them
// sees an error, and only the new pods are left.
func (e *environment) testBlueGreen(t *testing.T) {
	t.Helper()
	e.change(t, `{"spec":{"frontend":{"strategy":"BlueGreen"}}}`)
	e.running(t, shop)
	customersOf := map[string]*customers{}
	for _, r := range e.regions {
		customersOf[r.name] = r.sendCustomers(t, shop)
	}
	e.change(t, `{"spec":{"frontend":{"env":[{"name":"RELEASE","value":"2"}]}}}`)
	e.running(t, shop)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			r.awaitRelease(t, "2")
			placed, stored := customersOf[r.name].end(t), r.inDatabase(t, shop)
			for _, id := range placed {
				if !slices.Contains(stored, id) {
					t.Errorf("order %s is lost", id)
				}
			}
		})
	}
	e.change(t, `{"spec":{"frontend":{"strategy":null,"env":null}}}`)
	e.running(t, shop)
}

// awaitRelease blocks until all pods of the frontend have a value of the variable RELEASE.
func (r *region) awaitRelease(t *testing.T, value string) {
	t.Helper()
	fleettest.Within(t, patience, "the pods of release "+value, func(ctx context.Context) error {
		pods, err := r.pods(ctx, "frontend")
		if err != nil {
			return err
		}
		for i := range pods {
			if !slices.Contains(pods[i].Spec.Containers[0].Env, corev1.EnvVar{Name: "RELEASE", Value: value}) {
				return fmt.Errorf("%w: pod %s has another", errWaiting, pods[i].Name)
			}
		}
		return nil
	})
}

// awaitRollout blocks until the present spec of an application has a rollout in a state.
func (e *environment) awaitRollout(t *testing.T, name string, state v1.RolloutState) {
	t.Helper()
	fleettest.Within(t, patience, "the rollout of "+name+" to be "+string(state), func(ctx context.Context) error {
		app, err := e.app(ctx, name)
		if err != nil {
			return err
		}
		if r := app.Status.Rollout; r == nil || r.State != state || app.Status.ObservedGeneration != app.Generation {
			return fmt.Errorf("%w: %+v", errWaiting, r)
		}
		return nil
	})
}
