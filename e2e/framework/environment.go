package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

const (
	// MemberManifests is the folder with the permissions of the hub in a member without an agent. It brings
	// MemberPolicies, as kubectl shopfleet join does.
	MemberManifests = "config/rbac/member"
	// AgentManifests is the folder with those in a member with an agent, and brings MemberPolicies too.
	AgentManifests = "config/rbac/agent"
	// MemberPolicies is the folder with the admission policies for the hub's account in a member.
	MemberPolicies = "config/admission/member"
	// root is the module's root, seen from the folder of a suite.
	root = "../.."
)

// Silence discards what libraries log globally. A TestMain calls it.
func Silence() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// Options describe an environment.
type Options struct {
	// Fleet describes the clusters. A hub is optional.
	Fleet fleet.Options
	// Manifests are the folders, seen from the module's root, that are applied to clusters, by
	// the cluster's name. Without an entry, the hub gets its CRDs and permissions, and a member
	// MemberManifests.
	Manifests map[string][]string
	// Health is how members are probed; the zero value keeps the defaults.
	Health v1.Health
	// Hub changes what the hub is started with; nil changes nothing.
	Hub func(*setup.Options)
	// Kubeconfig changes the kubeconfigs of processes, and of members as they are registered,
	// by the cluster's name; nil changes nothing.
	Kubeconfig func(t testing.TB, cluster string, kubeconfig []byte) []byte
}

// Environment is a fleet, and a hub that can be started and stopped. It is safe for concurrent use, but not while
// the hub is being started or stopped.
type Environment struct {
	Fleet *fleet.Fleet
	// Hub and Members are clients with the permissions of an administrator. Hub is nil in a
	// fleet without one.
	Hub     client.WithWatch
	Members map[string]client.WithWatch

	// t is the test that the environment ends with.
	t       testing.TB
	dir     string
	options Options
	// metrics are those of the hub, beside those that all of the process share.
	metrics *prometheus.Registry
	stop    func()
	// started is when the hub that runs was started; zero if none runs.
	started time.Time
	// restored are the times at which clusters were restored, by name.
	restored map[string][]time.Time
	// expecting guards expected, the deletions that tests asked for.
	expecting sync.Mutex
	expected  []invariants.Expected
}

// New starts a fleet that ends with the test, together with what runs by then. Audit logs
// and clusters are searched then for what must never happen: see package invariants. A panic
// that a controller recovered fails the test as well, unless it is Poison.
func New(t testing.TB, o Options) *Environment {
	t.Helper()
	e := &Environment{
		Fleet: fleettest.Start(t, o.Fleet), Members: map[string]client.WithWatch{}, restored: map[string][]time.Time{},
		t: t, dir: t.TempDir(), options: o, metrics: prometheus.NewRegistry(), stop: func() {},
	}
	var group sync.WaitGroup
	for _, c := range e.Fleet.Clusters() {
		folders := []string{MemberManifests}
		if c == e.Fleet.Hub() {
			e.Hub, folders = Admin(t, c), HubManifests()
		} else {
			e.Members[c.Name()] = Admin(t, c)
		}
		if given, ok := o.Manifests[c.Name()]; ok {
			folders = given
		}
		group.Go(func() {
			if err := apply(t.Context(), c, folders); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	recovered := watchPanics()
	t.Cleanup(func() {
		for _, each := range recovered.all() {
			t.Errorf("a controller recovered a panic: %s", each)
		}
	})
	t.Cleanup(e.verify)
	return e
}

// ExpectDeletes declares deletions by Shopfleet that a test asks for in a way that audit
// logs do not show.
func (e *Environment) ExpectDeletes(expected ...invariants.Expected) {
	e.expecting.Lock()
	defer e.expecting.Unlock()
	e.expected = append(e.expected, expected...)
}

// Restore restores the hub's etcd from a snapshot. The statuses of the hub may go back by that,
// once.
func (e *Environment) Restore(t testing.TB, snapshot string) {
	t.Helper()
	if err := e.Fleet.Hub().Restore(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	name := e.Fleet.Hub().Name()
	e.restored[name] = append(e.restored[name], time.Now())
}

// HubManifests returns the folders with the CRDs and permissions of a hub.
func HubManifests() []string { return []string{"config/crd/bases", "config/rbac/hub"} }

// Apply applies folders of manifests, seen from the module's root, to a cluster.
func Apply(t testing.TB, c *fleet.Cluster, folders ...string) {
	t.Helper()
	if err := apply(t.Context(), c, folders); err != nil {
		t.Fatal(err)
	}
}

func apply(ctx context.Context, c *fleet.Cluster, folders []string) error {
	if slices.Contains(folders, MemberManifests) || slices.Contains(folders, AgentManifests) {
		folders = append([]string{MemberPolicies}, folders...)
	}
	for _, folder := range folders {
		if err := c.ApplyFolder(ctx, filepath.Join(root, folder)); err != nil {
			return fmt.Errorf("applying %s to %s: %w", folder, c.Name(), err)
		}
	}
	return nil
}

// Kubeconfig returns a kubeconfig of a ServiceAccount of Shopfleet in a cluster.
func Kubeconfig(t testing.TB, c *fleet.Cluster, account string) []byte {
	t.Helper()
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// KubeconfigFile writes a kubeconfig of a ServiceAccount in a cluster, and returns
// its path.
func (e *Environment) KubeconfigFile(t testing.TB, c *fleet.Cluster, account string) string {
	t.Helper()
	path := filepath.Join(e.dir, c.Name()+"-"+account)
	if err := os.WriteFile(path, e.kubeconfig(t, c, account), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig returns the kubeconfig of a ServiceAccount as Options.Kubeconfig has it.
func (e *Environment) kubeconfig(t testing.TB, c *fleet.Cluster, account string) []byte {
	t.Helper()
	raw := Kubeconfig(t, c, account)
	if e.options.Kubeconfig != nil {
		raw = e.options.Kubeconfig(t, c.Name(), raw)
	}
	return raw
}

// Run runs a process in the background until stop is called, at the latest until the
// environment ends. The test of the environment fails if the process ends with an error.
func (e *Environment) Run(what string, process func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := process(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.t.Errorf("%s ended with an error: %v", what, err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	e.t.Cleanup(stop)
	return stop
}

// ProcessOptions returns the options of a hub or a spoke that runs in the test's process.
func ProcessOptions(t testing.TB) manager.Options {
	t.Helper()
	return manager.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: Log(t)}
}

// StartHub runs a hub as cmd/hub does, until StopHub.
func (e *Environment) StartHub(t testing.TB) {
	t.Helper()
	options := setup.Options{
		Kubeconfig: e.KubeconfigFile(t, e.Fleet.Hub(), config.HubServiceAccount),
		Namespace:  config.Namespace, Version: "test", Options: ProcessOptions(t), Registry: e.metrics,
	}
	if e.options.Hub != nil {
		e.options.Hub(&options)
	}
	e.started = time.Now()
	e.stop = e.Run("the hub", func(ctx context.Context) error { return setup.Run(ctx, options) })
}

// StopHub ends the hub, if one runs, and blocks until it has ended.
func (e *Environment) StopHub() {
	e.stop()
	e.started = time.Time{}
}

// RestartHub ends the hub and starts another.
func (e *Environment) RestartHub(t testing.TB) {
	t.Helper()
	e.StopHub()
	e.StartHub(t)
}

// Registration returns the Secret that registers a member.
func Registration(name string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: name, Labels: map[string]string{v1.MemberClusterLabel: "true"},
		},
		Data: map[string][]byte{v1.KubeconfigKey: kubeconfig},
	}
}

// Register creates the registration Secrets of members. The hub creates the MemberClusters,
// except where Options.Health is set.
func (e *Environment) Register(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if e.options.Health != (v1.Health{}) {
			member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Health: e.options.Health}}
			if err := client.IgnoreAlreadyExists(e.Hub.Create(t.Context(), member)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Hub.Create(t.Context(), Registration(name, e.kubeconfig(t, e.Fleet.Member(name), config.HubServiceAccount))); err != nil {
			t.Fatal(err)
		}
	}
}

// Mark returns where the audit logs of all clusters end now.
func (e *Environment) Mark(t testing.TB) Marks {
	t.Helper()
	return Mark(t, e.Fleet)
}

// Since returns the requests of the hub to a cluster since a mark.
func (e *Environment) Since(t testing.TB, m Marks, c *fleet.Cluster) audit.Log {
	t.Helper()
	return m.By(t, c, config.HubServiceAccount)
}
