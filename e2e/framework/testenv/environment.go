package testenv

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
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
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/operator"
)

// root is the module's root, seen from the folder of a suite.
const root = "../.."

// Silence discards what libraries log globally. A TestMain calls it.
func Silence() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// Options describe an environment.
type Options struct {
	Members []fleet.ClusterSpec
	// Manifests are folders, relative to the suite's, that are applied to clusters in
	// addition to the shipped permissions, by the cluster's name.
	Manifests map[string][]string
	// Health is how members are probed; the zero value keeps the defaults.
	Health v1.Health
	// Hub changes what the hub is started with; nil changes nothing.
	Hub func(*setup.Options)
}

// Environment is a fleet, and a hub that can be started and stopped. It is not safe for
// concurrent use while the hub is being started or stopped.
type Environment struct {
	Fleet *fleet.Fleet
	// Hub and Members are clients with the permissions of an administrator.
	Hub     client.Client
	Members map[string]client.Client

	options Options
	// kubeconfig is the path of the hub's own, with the permissions that are shipped.
	kubeconfig string
	stop       func()
}

// New starts a fleet that ends with the test, together with the hub that runs by then.
func New(t *testing.T, o Options) *Environment {
	t.Helper()
	e := &Environment{options: o, Members: map[string]client.Client{}, stop: func() {}}
	e.Fleet = fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: o.Members})
	var group sync.WaitGroup
	for _, c := range e.Fleet.Clusters() {
		folders := []string{root + "/config/rbac/member"}
		if c == e.Fleet.Hub() {
			folders = []string{root + "/config/crd/bases", root + "/config/rbac/hub"}
		}
		folders = slices.Concat(folders, o.Manifests[c.Name()])
		group.Go(func() {
			for _, folder := range folders {
				if err := c.ApplyFolder(t.Context(), folder); err != nil {
					t.Errorf("applying %s to %s: %v", folder, c.Name(), err)
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	e.Hub = framework.Admin(t, e.Fleet.Hub())
	e.kubeconfig = filepath.Join(t.TempDir(), "hub.kubeconfig")
	if err := os.WriteFile(e.kubeconfig, Kubeconfig(t, e.Fleet.Hub()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range o.Members {
		e.Members[m.Name] = framework.Admin(t, e.Fleet.Member(m.Name))
	}
	t.Cleanup(e.StopHub)
	return e
}

// Kubeconfig returns a kubeconfig with the hub's permissions in a cluster.
func Kubeconfig(t *testing.T, c *fleet.Cluster) []byte {
	t.Helper()
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, config.HubServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// StartHub runs a hub as cmd/hub does, until StopHub.
func (e *Environment) StartHub(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	options := setup.Options{
		Kubeconfig: e.kubeconfig, Namespace: config.Namespace, Version: "test",
		Options: operator.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: framework.Log(t)},
	}
	if e.options.Hub != nil {
		e.options.Hub(&options)
	}
	go func() { done <- setup.Run(ctx, options) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the hub ended with an error: %v", err)
		}
	})
}

// StopHub ends the hub, if one runs, and blocks until it has ended.
func (e *Environment) StopHub() { e.stop() }

// RestartHub ends the hub and starts another.
func (e *Environment) RestartHub(t *testing.T) {
	t.Helper()
	e.StopHub()
	e.StartHub(t)
}

// Register creates the registration Secrets of members. The hub creates the MemberClusters,
// except where Options.Health is set.
func (e *Environment) Register(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if e.options.Health != (v1.Health{}) {
			member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Health: e.options.Health}}
			if err := client.IgnoreAlreadyExists(e.Hub.Create(t.Context(), member)); err != nil {
				t.Fatal(err)
			}
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: config.Namespace, Name: name, Labels: map[string]string{v1.MemberClusterLabel: "true"},
			},
			Data: map[string][]byte{v1.KubeconfigKey: Kubeconfig(t, e.Fleet.Member(name))},
		}
		if err := e.Hub.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
}

// Mark returns where the audit logs of all clusters end now.
func (e *Environment) Mark(t *testing.T) framework.Marks {
	t.Helper()
	return framework.Mark(t, e.Fleet)
}

// Since returns what the hub asked of a cluster since a mark.
func (e *Environment) Since(t *testing.T, m framework.Marks, c *fleet.Cluster) audit.Log {
	t.Helper()
	return m.Since(t, c).ByServiceAccount(config.Namespace, config.HubServiceAccount)
}
