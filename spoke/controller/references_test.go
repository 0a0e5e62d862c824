package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
)

const (
	// lookAgain is after the time after which a missing object is read again, longAfter after the one of
	// others.
	lookAgain = 5*time.Minute + time.Second
	longAfter = 10*time.Minute + time.Second
)

// referring is an application that refers to objects of users, and what is read of these.
type referring struct {
	*writer
	// reads are the names of those that were read from the API server since the last pass.
	reads []string
	// refused is the answer to these reads; usually nil.
	refused error
}

// testReferences checks that an application names missing objects of users, works without them, and reads each of
// them now and then.
func testReferences(t *testing.T, w *writer) {
	t.Helper()
	r := &referring{writer: w}
	w.Reconciler = EcommerceApp().Reconciler(r.member(t))
	w.patch(t, `{"spec":{"frontend":{"imagePullSecrets":[{"name":"registry"}],"envFrom":[{"configMapRef":{"name":"settings"}},{"secretRef":{"name":"maybe","optional":true}}]}}}`)
	t.Run("missing", r.missing)
	t.Run("created", r.created)
	t.Run("deleted", r.deleted)
	t.Run("forbidden", r.forbidden)
	t.Run("propagated", r.propagated)
	t.Run("while it is being deleted", r.deleting)
}

// testAwaitedReferences checks that the workloads of a new copy wait for what its hub is about to write beside it, until
// that is there or ten seconds are over, and that nothing is reported as missing meanwhile.
func testAwaitedReferences(t *testing.T, w *writer) {
	t.Helper()
	r := &referring{writer: w}
	w.Reconciler = EcommerceApp().Reconciler(r.member(t))
	w.patch(t, `{"metadata":{"annotations":{"`+v1.PropagatedAnnotation+`":"ConfigMap/copied,Secret/copied"}},
		"spec":{"frontend":{"envFrom":[{"configMapRef":{"name":"copied"}},{"secretRef":{"name":"copied"}}]}}}`)
	labels := map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.PropagatedLabel: "true"}
	created := r.stored(t).CreationTimestamp.Time
	for _, step := range []struct {
		after   time.Duration
		arrives client.Object
		reads   []string
		waiting string
	}{
		{after: 0, waiting: "waiting for ConfigMap copied and Secret copied"},
		{after: 5 * time.Second, arrives: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "copied", Labels: labels}}, waiting: "waiting for ConfigMap copied"},
		{after: 9 * time.Second, waiting: "waiting for ConfigMap copied"},
		{after: 10 * time.Second, reads: []string{"copied"}},
	} {
		if step.arrives != nil {
			r.create(t, step.arrives)
		}
		r.clock.SetTime(created.Add(step.after - 5*time.Second)) // A pass steps it.
		rest := r.pass(t, step.reads...)
		deployments := &appsv1.DeploymentList{}
		if err := r.List(t.Context(), deployments, client.InNamespace(r.key.Namespace), client.MatchingLabels{v1.InstanceLabel: r.key.Name}); err != nil {
			t.Fatal(err)
		}
		frontend := componentOf(r.stored(t), render.Frontend)
		if (len(deployments.Items) == 0) != (step.waiting != "") || step.waiting != "" && (frontend.Message != step.waiting || rest > 10*time.Second-step.after) {
			t.Errorf("after %s: %d Deployments, again in %s, the frontend says %q, want %q", step.after, len(deployments.Items), rest, frontend.Message, step.waiting)
		}
	}
}

// componentOf returns what a status says about a component.
func componentOf(app *v1.EcommerceApp, name string) v1.ComponentStatus {
	i := slices.IndexFunc(app.Status.Components, func(c v1.ComponentStatus) bool { return c.Name == name })
	return app.Status.Components[i]
}

// missing checks that a missing object explains pods that are not ready, and later is a problem of a running
// application.
func (r *referring) missing(t *testing.T) {
	const both = "frontend: 0 of 1 replicas are ready; ConfigMap settings, Secret registry do not exist in this cluster: create them there"
	r.pass(t, "registry", "settings")
	r.pass(t) // The Deployment exists.
	app := r.stored(t)
	if c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady); c.Reason != v1.ReasonMissing || c.Message != both || app.Status.ObservedGeneration != app.Generation {
		t.Errorf("generation %d, %+v", app.Status.ObservedGeneration, c)
	}
	if !slices.ContainsFunc(r.events(), func(event string) bool { return strings.HasPrefix(event, "Warning "+v1.ReasonMissing) }) {
		t.Error("no event says what is missing")
	}
	r.ready(t, 1)
	r.pass(t)
	// The Ingress exists, and nothing else is waited for.
	if rest := r.pass(t); rest < 4*time.Minute || rest > 5*time.Minute*13/10 {
		t.Errorf("looked again in %s", rest)
	}
	r.expect(t, "frontend: ConfigMap settings, Secret registry do not exist in this cluster: create them there")
	r.patch(t, `{"metadata":{"annotations":{"`+v1.HubAppUIDAnnotation+`":"u","`+v1.ManagedByModeAnnotation+`":"`+string(v1.ManagedByAgent)+`"}}}`)
	r.pass(t)
	r.expect(t, "frontend: ConfigMap settings, Secret registry do not exist in this cluster: create them there, or list them in spec.propagate")
}

// created checks that an object that a user creates is found at the next read, and at once on request.
func (r *referring) created(t *testing.T) {
	r.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "registry"}})
	r.pass(t)
	r.clock.Step(lookAgain)
	r.pass(t, "registry", "settings")
	r.expect(t, "frontend: ConfigMap settings does not exist in this cluster: create it there, or list it in spec.propagate")
	r.clock.Step(lookAgain)
	r.pass(t, "settings")
	r.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}})
	r.patch(t, `{"metadata":{"annotations":{"`+v1.ReconcileAtAnnotation+`":"now"}}}`)
	r.pass(t, "registry", "settings")
	r.expect(t, "")
	if rest := r.pass(t); rest < 10*time.Minute {
		t.Errorf("looked again in %s", rest)
	}
}

// deleted checks that an existing object is read again, too.
func (r *referring) deleted(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.key.Namespace, Name: "registry"}}
	if err := r.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(lookAgain)
	r.pass(t)
	r.clock.Step(lookAgain)
	r.pass(t, "registry", "settings")
	r.expect(t, "frontend: Secret registry does not exist in this cluster: create it there, or list it in spec.propagate")
}

// forbidden checks that an object that must not be read is not reported, and that the rest of the pass continues.
func (r *referring) forbidden(t *testing.T) {
	r.refused = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "registry", nil)
	r.clock.Step(longAfter)
	r.pass(t, "registry", "settings")
	r.expect(t, "")
	r.pass(t)
	r.refused = nil
	r.clock.Step(longAfter)
	r.pass(t, "registry", "settings")
}

// propagated checks that a cached object, such as a propagated one, is not read.
func (r *referring) propagated(t *testing.T) {
	labels := map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.PropagatedLabel: "true"}
	r.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "registry", Labels: labels}})
	r.pass(t)
	r.expect(t, "")
	r.clock.Step(longAfter)
	r.pass(t, "settings")
}

func (r *referring) deleting(t *testing.T) {
	r.clock.Step(longAfter)
	if err := r.Delete(t.Context(), r.stored(t)); err != nil {
		t.Fatal(err)
	}
	r.pass(t)
}

// member returns a member whose cache has what has our label, and whose API server counts the reads.
func (r *referring) member(t *testing.T) *reconciler.Member {
	t.Helper()
	m := r.writer.member(t)
	cache := interceptor.NewClient(r.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, into, opts...); err != nil {
				return err
			}
			if into.GetLabels()[v1.ManagedByLabel] != v1.ManagedBy {
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			}
			return nil
		},
	})
	children := m.Children(nil)
	for i := range children {
		children[i].Reader = cache
	}
	m.APIReader = interceptor.NewClient(r.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if _, limited := ctx.Deadline(); !limited {
				t.Errorf("%s is read without a deadline", key.Name)
			}
			if _, partial := into.(*metav1.PartialObjectMetadata); !partial {
				t.Errorf("%s is read as a %T", key.Name, into)
			}
			r.reads = append(r.reads, key.Name)
			if r.refused != nil {
				return fmt.Errorf("asking: %w", r.refused)
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
	return m
}

// pass runs one pass, which reads the named objects from the API server and no others, and returns when
// the next one is due.
func (r *referring) pass(t *testing.T, reads ...string) time.Duration {
	t.Helper()
	r.clock.Step(5 * time.Second) // A status is not delayed.
	r.reads = nil
	rest := r.reconcile(t).RequeueAfter
	sorted := cmp.Transformer("sorted", func(names []string) map[string]int {
		counts := map[string]int{}
		for _, name := range names {
			counts[name]++
		}
		return counts
	})
	if diff := cmp.Diff(reads, r.reads, sorted); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	return rest
}

// expect checks that an application that runs is degraded with a message; not degraded if it is empty.
func (r *referring) expect(t *testing.T, message string) {
	t.Helper()
	app := r.stored(t)
	degraded := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDegraded)
	if app.Status.Phase != v1.PhaseRunning || !meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionReady) ||
		meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionStalled) || app.Status.ObservedGeneration != app.Generation {
		t.Errorf("%s, generation %d of %d: %+v", app.Status.Phase, app.Status.ObservedGeneration, app.Generation, app.Status.Conditions)
	}
	if degraded.Message != message || (degraded.Reason == v1.ReasonMissing) != (message != "") {
		t.Errorf("Degraded is %+v, want %q", degraded, message)
	}
	if got := componentOf(app, render.Frontend).Message; !strings.HasSuffix(got, strings.TrimPrefix(message, "frontend: ")) {
		t.Errorf("the frontend says %q, want %q", got, message)
	}
}

// events returns the events since the last call.
func (r *referring) events() []string {
	var all []string
	for {
		select {
		case event := <-r.recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func (r *referring) create(t *testing.T, object client.Object) {
	t.Helper()
	object.SetNamespace(r.key.Namespace)
	if err := r.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
