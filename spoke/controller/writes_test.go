package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	clusterName = "a"
	// other is the finalizer of another controller.
	other = "example.com/hold"
)

// writer is the reconciler of one application in a cluster with an API server and nothing
// else. It reads without a cache.
type writer struct {
	client.WithWatch
	reconcile.Reconciler
	config *rest.Config
	clock  *clocktesting.FakeClock
	key    client.ObjectKey
	// statuses counts the writes of the status.
	statuses int
	registry *prometheus.Registry
	options  Options
	// between is called after each read of the application.
	between func()
	// exec runs the commands in containers, and recorder has the events.
	exec     func(context.Context, podexec.Container, podexec.Command) (string, error)
	recorder *events.FakeRecorder
}

func TestWrites(t *testing.T) {
	c := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: clusterName, APIServerOnly: true}}}).Member(clusterName)
	scheme := runtime.NewScheme()
	if err := errors.Join(
		c.ApplyFolder(t.Context(), "../../config/crd/bases"), clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	admin, err := client.NewWithWatch(c.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, *writer){
		"counts wait":          testCountsWait,
		"statuses are locked":  testStatusLock,
		"finalizers of others": testFinalizerLock,
		"metrics":              testMetrics,
		"pod problems":         testPodProblems,
		"policy":               testPolicy,
		"paused":               testPaused,
		"references":           testReferences,
		"awaited references":   testAwaitedReferences,
		"replicas":             testReplicas,
		"lost postgresql":      testLostPostgreSQL,
		"lost mysql":           testLostMySQL,
		"imported postgresql":  testImportedPostgreSQL,
		"imported mysql":       testImportedMySQL,
		"held templates":       testHeldTemplates,
		"earlier release":      testTemplatesOfAnEarlierRelease,
		"without a hub":        testTemplatesWithoutAHub,
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{WithWatch: admin, config: c.AdminConfig(), clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), between: func() {}}
			w.Reconciler = EcommerceApp().Reconciler(w.member(t))
			app := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "shop-"},
				Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
			}
			if err := w.Create(t.Context(), app); err != nil {
				t.Fatal(err)
			}
			w.key = client.ObjectKeyFromObject(app)
			test(t, w)
		})
	}
}

// testCountsWait checks that replicas that become ready one by one do not cost a write each.
func testCountsWait(t *testing.T, w *writer) {
	t.Helper()
	w.patch(t, `{"spec":{"frontend":{"replicas":3}}}`)
	w.reconcile(t)
	w.ready(t, 1) // The Ingress waits for the first.
	w.reconcile(t)
	w.reconcile(t)
	before := w.statuses
	w.ready(t, 2)
	if rest := w.reconcile(t).RequeueAfter; rest <= 0 || rest > 5*time.Second {
		t.Errorf("the count is written in %s, want 5s at most", rest)
	}
	if w.statuses != before {
		t.Errorf("%d writes for a count that is a moment old", w.statuses-before)
	}
	w.clock.Step(5 * time.Second)
	w.reconcile(t)
	if w.statuses != before+1 {
		t.Errorf("%d writes for one count", w.statuses-before)
	}
	// The phase changes: no reason to wait.
	w.ready(t, 3)
	w.reconcile(t)
	if w.statuses != before+2 {
		t.Errorf("%d writes for a count and a phase, want 2", w.statuses-before)
	}
}

// testStatusLock checks that a status that was computed from an older version is not written.
func testStatusLock(t *testing.T, w *writer) {
	t.Helper()
	w.patch(t, `{"metadata":{"finalizers":["`+v1.SpokeFinalizer+`"]}}`)
	w.between = func() { w.patch(t, `{"spec":{"image":"shop:v2"}}`) }
	if rest := w.reconcile(t).RequeueAfter; rest <= 0 || rest > time.Second {
		t.Errorf("a conflict is tried again in %s", rest)
	}
	if got := w.stored(t).Status; got.ObservedGeneration != 0 || got.LastUpdated != nil {
		t.Errorf("phase %s was computed from an older version, and written", got.Phase)
	}
	w.between = func() {}
	w.reconcile(t)
	if got := w.stored(t).Status; got.ObservedGeneration != 2 {
		t.Errorf("generation %d is observed, want 2", got.ObservedGeneration)
	}
}

// testFinalizerLock checks that a patch replaces the list of finalizers as a whole.
func testFinalizerLock(t *testing.T, w *writer) {
	t.Helper()
	w.between = func() { w.patch(t, `{"metadata":{"finalizers":["`+other+`"]}}`) }
	w.reconcile(t)
	if app := w.stored(t); !controllerutil.ContainsFinalizer(app, other) || controllerutil.ContainsFinalizer(app, v1.SpokeFinalizer) {
		t.Errorf("finalizers %q, want only that of the other controller", app.Finalizers)
	}
	w.between = func() {}
	w.reconcile(t)
	if app := w.stored(t); !controllerutil.ContainsFinalizer(app, other) || !controllerutil.ContainsFinalizer(app, v1.SpokeFinalizer) {
		t.Errorf("finalizers %q, want both", app.Finalizers)
	}
}

// testMetrics checks that a cluster that is not connected any more has no series.
func testMetrics(t *testing.T, w *writer) {
	t.Helper()
	w.reconcile(t)
	if n := w.series(t); n == 0 {
		t.Error("an application has no series: the test shows nothing")
	}
	cl, err := cluster.New(w.config, func(o *cluster.Options) { o.Scheme = w.Scheme() })
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := NewClusterRunner(w.options).run(ended, clusterName, cl); err != nil {
		t.Fatal(err)
	}
	if n := w.series(t); n != 0 {
		t.Errorf("there are %d series of a cluster that left", n)
	}
}

// series counts the series of applications in clusters.
func (w *writer) series(t *testing.T) int {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		if f.GetName() == "shopfleet_spoke_apps" {
			n += len(f.GetMetric())
		}
	}
	return n
}

func (w *writer) member(t *testing.T) *reconciler.Member {
	t.Helper()
	var all []reconciler.Child
	for _, object := range children() {
		gvk, err := apiutil.GVKForObject(object, w.Scheme())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reconciler.Child{Kind: gvk, Reader: w.WithWatch})
	}
	c := interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, into, opts...)
			if _, is := into.(*v1.EcommerceApp); is {
				w.between()
			}
			return err
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			w.statuses++
			return c.SubResource(name).Patch(ctx, o, patch, opts...)
		},
	})
	w.registry = prometheus.NewPedanticRegistry()
	metrics, err := NewMetrics(w.registry)
	if err != nil {
		t.Fatal(err)
	}
	w.options, w.recorder = Options{Clock: w.clock, Metrics: metrics}.withDefaults(), events.NewFakeRecorder(100)
	return &reconciler.Member{
		Name: clusterName, Settings: w.options.settings(), Scheme: w.Scheme(), Client: c, Reader: c, APIReader: c, Recorder: w.recorder,
		Exec: func(ctx context.Context, target podexec.Container, command podexec.Command) (string, error) {
			return w.exec(ctx, target, command)
		},
		Applier:  apply.New(apply.Options{Client: c, Reader: c, FieldManager: v1.SpokeFieldManager, Random: rand.Reader, Clock: w.clock}),
		Facts:    func() render.Cluster { return render.Cluster{} },
		Progress: retry.NewProgress(retry.ProgressPeriod),
		Children: func([]client.Object) []reconciler.Child { return all },
	}
}

// reconcile runs one pass.
func (w *writer) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// stored reads the application.
func (w *writer) stored(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := w.Get(t.Context(), w.key, app); err != nil {
		t.Fatal(err)
	}
	return app
}

// patch changes the application as another client does.
func (w *writer) patch(t *testing.T, change string) {
	t.Helper()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}}
	if err := w.Patch(t.Context(), app, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		t.Fatal(err)
	}
}

// ready makes some of the frontend's pods ready.
func (w *writer) ready(t *testing.T, pods int32) {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: w.key.Name + "-" + render.Frontend}, d); err != nil {
		t.Fatal(err)
	}
	d.Status.ObservedGeneration = d.Generation
	d.Status.Replicas, d.Status.UpdatedReplicas = *d.Spec.Replicas, *d.Spec.Replicas
	d.Status.ReadyReplicas, d.Status.AvailableReplicas = pods, pods
	if err := w.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// allowPods creates the account that pods have, as there is no controller that does.
func (w *writer) allowPods(t *testing.T) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "default"}}
	if err := w.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
