package spoke_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// driftVariable is the environment variable that selects edits: empty for all fields of an
	// object at once and a sample of single ones, all for each field also alone.
	driftVariable = "SHOPFLEET_DRIFT"
	// driftSeedVariable is the environment variable with the seed of the sample. The default
	// changes every day.
	driftSeedVariable = "SHOPFLEET_DRIFT_SEED"
	// stranger is the field manager and the label of another client.
	stranger = "stranger"
)

// testDrift edits each field that the spoke owns in each object of an application, and deletes
// the object. Nothing is resynced meanwhile: what is repaired was seen by a watch.
func testDrift(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		every := os.Getenv(driftVariable)
		if every != "" && every != "all" {
			t.Fatalf("%s is %q, want all, or nothing for a sample", driftVariable, every)
		}
		seed := fleettest.Seed(t, driftSeedVariable)
		app := w.everything(t, seed)
		took := &durations{}
		t.Run("fields", func(t *testing.T) {
			kinds := map[string]bool{}
			for _, child := range w.applied(t, app) {
				kinds[child.GetKind()] = true
				t.Run(child.GetKind()+" "+child.GetName(), func(t *testing.T) {
					if every == "" { // Otherwise, one edit must not hide that another is not seen.
						t.Parallel()
					}
					d := newDrift(t, w, child)
					d.took, d.random = took, rand.New(rand.NewPCG(seed, 0))
					d.check(t)
				})
			}
			if len(kinds) != 15 {
				t.Errorf("%d kinds of objects, want 15: %v", len(kinds), kinds)
			}
		})
		w.awaitRunning(t, app)
		t.Run("autoscaled", testAutoscaled(w, app))
		t.Run("two managers", testTwoManagers(w, app))
		t.Logf("%s=%d: %s", driftSeedVariable, seed, took)
		w.stop()
		w.run(t)
	}
}

// certificates returns a definition like cert-manager's, except for the schema.
func certificates() string {
	return strings.NewReplacer("monitoring.coreos.com", "cert-manager.io", "servicemonitor", "certificate", "ServiceMonitor", "Certificate").
		Replace(serviceMonitors)
}

func prometheusRules() string {
	return strings.NewReplacer("servicemonitor", "prometheusrule", "ServiceMonitor", "PrometheusRule").Replace(serviceMonitors)
}

// defineOptionalKinds defines the kinds that the spoke applies where they are defined, and starts
// the spoke again: it knows them then, so that it does not begin with what stands in for them.
func (e *environment) defineOptionalKinds(t *testing.T, waits retry.Waits) {
	t.Helper()
	e.stop()
	for _, definition := range []string{serviceMonitors, prometheusRules(), certificates()} {
		if err := e.cluster.Apply(t.Context(), []byte(definition)); err != nil {
			t.Fatal(err)
		}
	}
	e.issueCertificates(t)
	e.runWith(t, waits)
}

// everything creates an application with an object of each kind that the spoke renders, and
// starts the spoke again, without resyncs. The engine of the database is that of the seed.
func (e *environment) everything(t *testing.T, seed uint64) *v1.EcommerceApp {
	t.Helper()
	e.defineOptionalKinds(t, retry.Waits{})
	app := e.shop(t)
	app.Spec.Backend.Replicas = nil
	app.Spec.Backend.Autoscaling = &v1.Autoscaling{MinReplicas: 2, MaxReplicas: 4}
	app.Spec.Ingress.Host = "shop.example.com"
	app.Spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: "letsencrypt"}
	e.allowLogin(t, app)
	if seed%2 == 0 {
		app.Spec.Database.Engine, app.Spec.Database.Version = v1.EngineMySQL, "8.4.2"
	}
	framework.Create(t, e, app)
	e.awaitRunning(t, app)
	return app
}

// applied returns the objects of an application that the spoke applied.
func (e *environment) applied(t *testing.T, app *v1.EcommerceApp) []*unstructured.Unstructured {
	t.Helper()
	all := e.children(t.Context(), t, app)
	for _, kind := range optionalKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := e.List(t.Context(), list, client.InNamespace(app.Namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	var applied []*unstructured.Unstructured
	for _, child := range all {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(child.GetObjectKind().GroupVersionKind())
		if err := e.Get(t.Context(), client.ObjectKeyFromObject(child), object); err != nil {
			t.Fatal(err)
		}
		if paths, err := ownedPaths(object); err != nil {
			t.Fatal(err)
		} else if len(paths) > 0 {
			applied = append(applied, object)
		}
	}
	return applied
}

// drift edits one object.
type drift struct {
	*environment
	original *unstructured.Unstructured
	paths    []fieldPath
	took     *durations
	random   *rand.Rand
	// items are the paths of list items with fields of their own, which can only be removed.
	items map[string]bool
	// rejected are the paths that no edit changed, with the last reason.
	rejected map[string]string
}

// edit is one field with the values that it may be given.
type edit struct {
	path   fieldPath
	values []any
	// last is why the last value had no effect.
	last error
}

var errNoEffect = errors.New("the API server kept the value")

func newDrift(t *testing.T, w *environment, child *unstructured.Unstructured) *drift {
	t.Helper()
	framework.Edit(t, w, child, func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[stranger] = stranger
		o.SetLabels(labels)
	})
	paths, err := ownedPaths(child)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]bool{}
	for i, path := range paths[:max(0, len(paths)-1)] {
		next := paths[i+1]
		items[path.String()] = len(next) > len(path) && slices.Equal(path, next[:len(path)])
	}
	return &drift{environment: w, original: child.DeepCopy(), paths: paths, items: items, rejected: map[string]string{}}
}

// check edits all fields at once, where they can be changed, then single ones, and deletes the object.
func (d *drift) check(t *testing.T) {
	t.Helper()
	every := os.Getenv(driftVariable) != ""
	var edits, removals, single []*edit
	excluded := 0
	for _, path := range d.paths {
		switch e := d.editOf(path); {
		case d.keptOf(path.String()) != "" || !every && d.exclusionOf(path.String()) != "":
			excluded++
		case d.items[path.String()]:
			removals = append(removals, e)
		default:
			edits = append(edits, e)
		}
	}
	single = slices.Concat(edits, removals)
	d.carryOut(t, edits)
	d.carryOut(t, removals)
	if !every {
		single = []*edit{single[d.random.IntN(len(single))]}
	}
	for _, e := range single {
		if d.rejected[e.path.String()] == "" {
			d.carryOut(t, []*edit{d.editOf(e.path)})
		}
	}
	for path, reason := range d.rejected {
		if want := d.exclusionOf(path); want == "" {
			t.Errorf("%s cannot be edited: %s", path, reason)
		}
	}
	t.Logf("%d fields, %d of them excluded or not editable", len(d.paths), excluded+len(d.rejected))
	d.recreate(t)
}

func (d *drift) editOf(path fieldPath) *edit {
	name := strings.TrimPrefix(path[len(path)-1], "f:")
	values := candidates(name, lookup(d.original.Object, path))
	if d.items[path.String()] {
		values = []any{nil}
	}
	if !controlled(d.original) && slices.Contains([]string{v1.ManagedByLabel, v1.PartOfLabel, v1.InstanceLabel}, name) {
		values = []any{nil} // Another value makes it the object of another application.
	}
	return &edit{path: path, values: values, last: errNoEffect}
}

// carryOut makes edits, as many at once as the API server accepts, and waits until they are repaired. Dry runs find out
// which: the less is written, the fewer repairs are waited for.
func (d *drift) carryOut(t *testing.T, edits []*edit) {
	t.Helper()
	for len(edits) > 0 {
		together := d.accepted(t, nil, edits)
		d.write(t, together)
		edits = slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool {
			return slices.Contains(together, e) || d.rejected[e.path.String()] != ""
		})
	}
}

// accepted returns edits and those of others that the API server accepts together with them.
func (d *drift) accepted(t *testing.T, edits, others []*edit) []*edit {
	t.Helper()
	half := len(others) / 2
	switch {
	case len(others) == 0:
		return edits
	case half > 0 && d.try(t, slices.Concat(edits, others)) == nil:
		return slices.Concat(edits, others)
	case half > 0:
		return d.accepted(t, d.accepted(t, edits, others[:half]), others[half:])
	}
	for e := others[0]; len(e.values) > 0; e.values = e.values[1:] {
		if d.try(t, slices.Concat(edits, others)) == nil {
			return slices.Concat(edits, others)
		}
		if e.last = d.try(t, others); e.last == nil {
			return edits // It is made without them, next.
		}
	}
	d.rejected[others[0].path.String()] = others[0].last.Error()
	return edits
}

// try returns an error if the API server rejects one of the edits, or ignores it.
func (d *drift) try(t *testing.T, edits []*edit) error {
	t.Helper()
	object, err := d.update(t, edits, client.DryRunAll)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if reflect.DeepEqual(lookup(object.Object, e.path), lookup(d.original.Object, e.path)) {
			return errNoEffect
		}
	}
	return nil
}

// write makes edits at once and waits until they are repaired.
func (d *drift) write(t *testing.T, edits []*edit) {
	t.Helper()
	if len(edits) == 0 {
		return
	}
	begun := time.Now()
	if _, err := d.update(t, edits); err != nil {
		t.Fatalf("%s and %d more edits, accepted by a dry run: %v", edits[0].path, len(edits)-1, err)
	}
	d.awaitRepaired(t, fmt.Sprint("repair of ", edits[0].path, " and ", len(edits)-1, " more"))
	d.took.add(time.Since(begun))
}

// update returns the object after edits.
func (d *drift) update(t *testing.T, edits []*edit, options ...client.UpdateOption) (*unstructured.Unstructured, error) {
	t.Helper()
	for {
		object := d.live(t)
		for _, e := range edits {
			replace(object.Object, e.path, e.values[0])
		}
		if err := d.Update(t.Context(), object, append(options, client.FieldOwner(stranger))...); !apierrors.IsConflict(err) {
			return object, err
		}
	}
}

func (d *drift) live(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(d.original.GroupVersionKind())
	if err := d.Get(t.Context(), client.ObjectKeyFromObject(d.original), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// awaitRepaired waits until all owned fields are as they were, and checks that the field of
// another client is.
func (d *drift) awaitRepaired(t *testing.T, what string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(d.original.GroupVersionKind())
	object.SetNamespace(d.original.GetNamespace())
	object.SetName(d.original.GetName())
	framework.Await(t, d, object, what, func(live *unstructured.Unstructured) error {
		var broken []string
		for _, path := range d.paths {
			have, want := lookup(live.Object, path), lookup(d.original.Object, path)
			if have == nil && want != nil || !d.items[path.String()] && !reflect.DeepEqual(have, want) {
				broken = append(broken, fmt.Sprintf("%s is %v, want %v", path, have, want))
			}
		}
		if len(broken) > 0 {
			return errors.New(strings.Join(broken, "; "))
		}
		return nil
	})
	if object.GetUID() == d.original.GetUID() && object.GetLabels()[stranger] != stranger {
		t.Errorf("%s took the label of another client", what)
	}
}

// recreate deletes the object and waits until there is another like it.
func (d *drift) recreate(t *testing.T) {
	t.Helper()
	if !controlled(d.original) {
		return // Its data depends on it; testLostCredentials deletes it.
	}
	begun := time.Now()
	if err := d.Delete(t.Context(), d.original, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	object := d.original.DeepCopy()
	framework.Await(t, d, object, "another object", func(live *unstructured.Unstructured) error {
		if live.GetUID() == d.original.GetUID() {
			return errNotYet
		}
		return nil
	})
	d.took.add(time.Since(begun))
}

// durations collects how long repairs took. It is safe for concurrent use.
type durations struct {
	mu  sync.Mutex
	all []time.Duration
}

func (d *durations) add(one time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

// String returns the number of repairs, the median and the maximum.
func (d *durations) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.all)
	if len(d.all) == 0 {
		return "no repairs"
	}
	return fmt.Sprintf("%d repairs, half of them within %s, all within %s", len(d.all), d.all[len(d.all)/2], d.all[len(d.all)-1])
}
