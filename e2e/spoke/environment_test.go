package spoke_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/operator"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

const (
	systemNamespace = "shopfleet-system"
	serviceAccount  = "shopfleet-spoke"

	// longestWait bounds all waits of the spoke, resyncs included.
	longestWait = 2 * time.Second
)

// environment is one cluster with a spoke in it.
type environment struct {
	client.Client
	cluster    *fleet.Cluster
	kubeconfig []byte
	logger     logr.Logger
	// stop ends the spoke and waits for it.
	stop func(testing.TB)
}

// start starts a cluster and a spoke.
func start(t *testing.T) *environment {
	t.Helper()
	log := io.Discard
	if os.Getenv("SHOPFLEET_LOG") != "" {
		log = os.Stderr
	}
	var options operator.Options
	if err := options.UseLogger(log); err != nil {
		t.Fatal(err)
	}
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{
		{Name: "solo", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3, NodeCPU: quantity("32"), NodeMemory: quantity("128Gi")},
	}})
	cluster := f.Member("solo")
	for _, folder := range []string{"../../config/crd/bases", "../../config/rbac/spoke"} {
		if err := cluster.ApplyFolder(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
	}
	scheme, err := setup.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := cluster.ServiceAccountKubeconfig(t.Context(), systemNamespace, serviceAccount)
	if err != nil {
		t.Fatal(err)
	}
	w := &environment{Client: c, cluster: cluster, kubeconfig: kubeconfig, logger: options.Logger}
	w.run(t)
	t.Cleanup(func() { w.stop(t) })
	return w
}

// run starts the spoke.
func (w *environment) run(t testing.TB) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(w.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- setup.Run(ctx, setup.Options{
			Options:  operator.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: w.logger},
			Config:   config,
			Registry: prometheus.NewRegistry(),
			Waits:    queues.Waits{Longest: longestWait},
		})
	}()
	w.stop = func(t testing.TB) {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the spoke ended with an error: %v", err)
		}
		ended <- nil
	}
}

// namespace makes a namespace for a test.
func (w *environment) namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	if err := w.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// sample reads an object of config/samples.
func sample[T client.Object](t testing.TB, file string, into T) T {
	t.Helper()
	raw, err := os.ReadFile("../../config/samples/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// shop returns the seed's EcommerceApp for a namespace.
func shop(t testing.TB, namespace string) *v1.EcommerceApp {
	t.Helper()
	app := sample(t, "ecommerceapp.yaml", &v1.EcommerceApp{})
	app.Namespace = namespace
	return app
}

func (w *environment) create(t testing.TB, object client.Object) {
	t.Helper()
	if err := w.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until an object is as the check says.
func eventually[T client.Object](t testing.TB, w *environment, object T, what string, check func(T) error) {
	t.Helper()
	fleettest.Eventually(t, what, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		return check(object)
	})
}

// running waits until an app is as wanted.
func (w *environment) running(t testing.TB, app *v1.EcommerceApp) {
	t.Helper()
	eventually(t, w, app, "the app to run", func(app *v1.EcommerceApp) error {
		s := app.Status
		if s.Phase != v1.PhaseRunning || s.ObservedGeneration != app.Generation || app.Annotations[v1.ImageUpdatedAnnotation] != "" {
			return fmt.Errorf("phase %s: %s (generation %d, observed %d)", s.Phase, s.Message, app.Generation, s.ObservedGeneration)
		}
		return nil
	})
}

// update changes an object as kubectl edit does.
func update[T client.Object](t testing.TB, w *environment, object T, change func(T)) {
	t.Helper()
	fleettest.Eventually(t, "the update to be accepted", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return w.Update(ctx, object)
	})
}

// writes returns what the spoke has written to a namespace since a mark.
func (w *environment) writes(t testing.TB, mark audit.Mark, namespace string) audit.Log {
	t.Helper()
	log, _, err := w.cluster.AuditSince(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	return log.ByServiceAccount(systemNamespace, serviceAccount).Writes().In(namespace)
}

func (w *environment) mark(t testing.TB) audit.Mark {
	t.Helper()
	mark, err := w.cluster.AuditMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// part returns a component's status.
func part(app *v1.EcommerceApp, name string) v1.ComponentStatus {
	i := slices.IndexFunc(app.Status.Components, func(c v1.ComponentStatus) bool { return c.Name == name })
	if i < 0 {
		return v1.ComponentStatus{}
	}
	return app.Status.Components[i]
}

// says returns an error unless a component's message contains a text.
func says(app *v1.EcommerceApp, name, text string) error {
	if c := part(app, name); !strings.Contains(c.Message, text) {
		return fmt.Errorf("%s says %q, want %q", name, c.Message, text)
	}
	return nil
}

var errNotYet = errors.New("not yet")
