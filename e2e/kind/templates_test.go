package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// errTemplates is returned while a region has pods of another build, or is not ready with its own.
var errTemplates = errors.New("the pod templates are not those that are rendered")

// steer runs a command about the rollout of an application.
func (e *environment) steer(t *testing.T, command, app string) {
	t.Helper()
	if _, err := testenv.Run(e.env.Command(t.Context(), "kubectl", "shopfleet", "rollout", command, app, "--namespace", namespace)); err != nil {
		t.Fatal(err)
	}
}

// podsIn lists the pods of an application everywhere, with their restarts.
func (e *environment) podsIn(t *testing.T, app string) []string {
	t.Helper()
	var all []string
	for key, found := range e.workloads(t.Context(), t) {
		if key.app == app {
			all = append(all, found.pods...)
		}
	}
	slices.Sort(all)
	return all
}

// followTemplates resumes the rollout of an application, and blocks until all its pods are those that the present build
// renders: region after region, each ready before the next one begins. Without another version no pod is replaced.
func (e *environment) followTemplates(t *testing.T, app string) {
	t.Helper()
	before, replaces := e.workloads(t.Context(), t), false
	for _, r := range e.regions {
		begun, err := r.templates(t.Context(), app)
		if err != nil && begun {
			t.Errorf("pods of %s are replaced in %s while its rollout is paused: %v", app, r.name, err)
		}
		replaces = replaces || err != nil
	}
	e.steer(t, "resume", app)
	fleettest.Within(t, 2*patience, "the pod templates of "+app+" in all regions", e.inOrder(t, app))
	e.running(t, app)
	for key, now := range e.workloads(t.Context(), t) {
		if key.app != app || key.name != "EcommerceApp backend" {
			continue
		}
		if replaced := !sharesAny(before[key].pods, now.pods); replaced != replaces {
			t.Errorf("%v had %+v and has %+v: replaced %t, want %t", key, before[key], now, replaced, replaces)
		}
	}
}

// inOrder returns a check that all regions have the pod templates that are rendered. It fails the test if one begins before
// those before it are ready.
func (e *environment) inOrder(t *testing.T, app string) func(context.Context) error {
	t.Helper()
	seen := map[string]bool{}
	return func(ctx context.Context) error {
		var last error
		began := ""
		for _, r := range slices.Backward(e.regions) { // What one waits for is read after it.
			begun, err := r.templates(ctx, app)
			if err != nil && began != "" {
				t.Errorf("%s has begun before %s is ready: %v", began, r.name, err)
			}
			if begun && !seen[r.name] {
				began, seen[r.name] = r.name, true
			}
			last = errors.Join(last, err)
		}
		return last
	}
}

// templates reports whether any workload of an application has the pod template that is rendered in the region. The
// error is nil if all have, and the copy is ready with them.
func (r *region) templates(ctx context.Context, app string) (begun bool, err error) {
	copied := &v1.EcommerceApp{}
	if err := r.get(ctx, app, copied); err != nil {
		return false, err
	}
	version, status := copied.Annotations[v1.RenderingAnnotation], &copied.Status
	if status.Phase != v1.PhaseRunning || version != status.RenderingVersion || len(status.HeldTemplates) > 0 {
		err = fmt.Errorf("%w in %s: %s %s with version %s of %s, held: %q", errTemplates, r.name, app, status.Phase, version, status.RenderingVersion, status.HeldTemplates)
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{v1.InstanceLabel: app}); err != nil {
			return false, fmt.Errorf("listing workloads of %s: %w", app, err)
		}
	}
	check := func(o client.Object) {
		switch rendered := o.GetAnnotations()[v1.RenderedAnnotation]; {
		case strings.HasSuffix(rendered, "."+status.RenderingVersion):
			begun = true
		case err == nil:
			err = fmt.Errorf("%w in %s: %s has %s", errTemplates, r.name, o.GetName(), rendered)
		}
	}
	for i := range deployments.Items {
		check(&deployments.Items[i])
	}
	for i := range sets.Items {
		check(&sets.Items[i])
	}
	return begun, err
}
