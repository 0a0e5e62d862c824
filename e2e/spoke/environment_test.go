package spoke_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

// longestWait bounds all waits of the spoke, resyncs included.
const longestWait = 2 * time.Second

func TestMain(m *testing.M) {
	framework.Silence()
	// Cases wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// environment is one cluster with a spoke in it.
type environment struct {
	client.WithWatch
	env     *framework.Environment
	cluster *fleet.Cluster
	// commands are run instead of those in containers.
	commands *commands
	// safeMode is that of the next spoke that is started.
	safeMode bool
	// stop ends the spoke and waits for it.
	stop func()
}

// start starts a cluster and a spoke.
func start(t *testing.T) *environment {
	t.Helper()
	e := framework.New(t, framework.Options{
		Fleet: fleet.Options{Members: []fleet.ClusterSpec{
			{Name: "solo", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 6, NodeCPU: quantity("32"), NodeMemory: quantity("128Gi")},
		}},
		Manifests: map[string][]string{"solo": {"config/crd/bases", "config/rbac/spoke"}},
	})
	w := &environment{WithWatch: e.Members["solo"], env: e, cluster: e.Fleet.Member("solo"), commands: &commands{}}
	w.run(t)
	return w
}

// run starts the spoke.
func (e *environment) run(t testing.TB) {
	t.Helper()
	e.runWith(t, retry.Waits{Longest: longestWait})
}

// runWith starts the spoke with waits of its own.
func (e *environment) runWith(t testing.TB, waits retry.Waits) {
	t.Helper()
	options := setup.Options{
		Options: framework.ProcessOptions(t), Kubeconfig: e.kubeconfig(t), Registry: prometheus.NewRegistry(),
		Waits: waits, Exec: e.commands.run,
	}
	options.SafeMode = e.safeMode
	e.stop = e.env.Run("the spoke", func(ctx context.Context) error { return setup.Run(ctx, options) })
}

func (e *environment) kubeconfig(t testing.TB) string {
	t.Helper()
	return e.env.KubeconfigFile(t, e.cluster, config.SpokeServiceAccount)
}

// expectReplaced declares that the database's StatefulSet is replaced: its claim templates cannot be changed.
func (e *environment) expectReplaced(app *v1.EcommerceApp) {
	e.env.ExpectDeletes(invariants.Expected{Resource: "statefulsets", Namespace: app.Namespace, Name: app.Name + "-database"})
}

// namespace makes a namespace for a test.
func (e *environment) namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	if err := e.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// shop returns the sample's EcommerceApp for a namespace of its own.
func (e *environment) shop(t testing.TB) *v1.EcommerceApp {
	t.Helper()
	return shop(e.namespace(t))
}

// shop returns the sample's EcommerceApp for a namespace.
func shop(namespace string) *v1.EcommerceApp {
	app := apitest.Seed()
	app.Namespace = namespace
	return app
}

// allowLogin configures the login of an application, which is Degraded otherwise.
func (e *environment) allowLogin(t testing.TB, app *v1.EcommerceApp) {
	t.Helper()
	framework.Create(t, e, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "login"}})
	login := &app.Spec.Security.Authentication
	login.SecretRef, login.EmailDomains = &v1.LocalSecretReference{Name: "login"}, []string{"example.com"}
}

// runningShop creates the sample's EcommerceApp in a namespace of its own, and waits until
// it runs.
func (e *environment) runningShop(t testing.TB) *v1.EcommerceApp {
	t.Helper()
	app := e.shop(t)
	framework.Create(t, e, app)
	e.awaitRunning(t, app)
	return app
}

// awaitRunning waits until an app is as wanted.
func (e *environment) awaitRunning(t testing.TB, app *v1.EcommerceApp) {
	t.Helper()
	framework.AwaitRunning(t, e, app)
}

// writes returns what the spoke has written to a namespace since a mark.
func (e *environment) writes(t testing.TB, mark framework.Marks, namespace string) audit.Log {
	t.Helper()
	return mark.By(t, e.cluster, config.SpokeServiceAccount).Writes().In(namespace)
}

func (e *environment) mark(t testing.TB) framework.Marks {
	t.Helper()
	return e.env.Mark(t)
}

// markSettled returns a mark behind the last write of the spoke to a namespace, late events and mere progress included.
func (e *environment) markSettled(t testing.TB, namespace string) framework.Marks {
	t.Helper()
	return framework.MarkSettled(t, e.env.Fleet, namespace, config.SpokeServiceAccount)
}

// part returns a component's status.
func part(app *v1.EcommerceApp, name string) v1.ComponentStatus {
	i := slices.IndexFunc(app.Status.Components, func(c v1.ComponentStatus) bool { return c.Name == name })
	if i < 0 {
		return v1.ComponentStatus{}
	}
	return app.Status.Components[i]
}

// messageContains returns an error unless a component's message contains a text.
func messageContains(app *v1.EcommerceApp, name, text string) error {
	if c := part(app, name); !strings.Contains(c.Message, text) {
		return fmt.Errorf("%s says %q, want %q", name, c.Message, text)
	}
	return nil
}

var errNotYet = errors.New("not yet")
