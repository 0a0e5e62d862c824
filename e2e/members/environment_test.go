package members_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/hub/members/controller"
)

const namespace = config.Namespace

// environment is a fleet that knows our kinds and permissions, and nothing else yet.
type environment struct {
	*fleet.Fleet
	env *framework.Environment
	hub client.Client // an administrator's
	// clock is that of the next fleet; nil is the real one.
	clock clock.Clock
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	ctrl.SetLogger(framework.Log(t))
	e := framework.New(t, framework.Options{Fleet: fleet.Options{
		Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true},
		Members: []fleet.ClusterSpec{
			{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3},
			{Name: "us-1", Provider: fleet.GCP, Region: "us-central1", Nodes: 2},
		},
	}})
	return &environment{Fleet: e.Fleet, env: e, hub: e.Hub}
}

// kubeconfig returns that of the hub's account in a cluster.
func (e *environment) kubeconfig(t *testing.T, cluster *fleet.Cluster) []byte {
	t.Helper()
	return framework.Kubeconfig(t, cluster, config.HubServiceAccount)
}

// register stores a registration, which is taken back at the end of the test.
func (e *environment) register(t *testing.T, name string, kubeconfig []byte) {
	t.Helper()
	secret := framework.Registration(name, kubeconfig)
	err := e.hub.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = e.hub.Update(t.Context(), secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, object := range []client.Object{secret, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}} {
			if err := e.hub.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
}

// registerProbed stores the registration of a member whose outages are noticed soon.
func (e *environment) registerProbed(t *testing.T, name string) {
	t.Helper()
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Health: framework.Health()}}
	if err := e.hub.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	e.register(t, name, e.kubeconfig(t, e.Member(name)))
}

// awaitGone waits until no registration of earlier tests is left.
func (e *environment) awaitGone(t *testing.T) {
	t.Helper()
	fleettest.Eventually(t, "member clusters to be gone", func(ctx context.Context) error {
		list := &v1.MemberClusterList{}
		if err := e.hub.List(ctx, list); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d are left, %s first", len(list.Items), list.Items[0].Name)
		}
		return nil
	})
}

// await waits until the condition has the status and, if given, the reason; it returns
// the MemberCluster and how long it took.
func (e *environment) await(
	t *testing.T, name, kind string, status metav1.ConditionStatus, reason string,
) (*v1.MemberCluster, time.Duration) {
	t.Helper()
	begun := time.Now()
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	framework.AwaitCondition(t, e.hub, m, metav1.Condition{Type: kind, Status: status, Reason: reason})
	return m, time.Since(begun)
}

func message(m *v1.MemberCluster, kind string) string {
	return framework.Condition(m.Status.Conditions, kind).Message
}

// hubProcess is a hub that manages members and does nothing else with them.
type hubProcess struct {
	fleet   *members.Fleet
	engaged *engagements
	stop    func()
}

// startHub starts a hub with the account that ships. It stops with the test.
func (e *environment) startHub(t *testing.T) *hubProcess {
	t.Helper()
	access, err := clientcmd.RESTConfigFromKubeConfig(e.kubeconfig(t, e.Hub()))
	if err != nil {
		t.Fatal(err)
	}
	local, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:     e.hub.Scheme(),
		Logger:     framework.Log(t),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:    {Namespaces: map[string]cache.Config{namespace: {}}},
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{namespace: {}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &hubProcess{fleet: e.newFleet(t), engaged: newEngagements()}
	manager, err := mcmanager.WithMultiCluster(local, p.fleet)
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Add(p.engaged); err != nil {
		t.Fatal(err)
	}
	options := controller.Options{Namespace: namespace, Fleet: p.fleet, Recorder: local.GetEventRecorder("shopfleet-hub")}
	p.stop = e.env.Run("the hub", func(ctx context.Context) error {
		if err := controller.Setup(ctx, local, options); err != nil {
			return err
		}
		return manager.Start(ctx)
	})
	t.Cleanup(p.stop)
	return p
}

// newFleet makes the members' fleet as the hub's setup does, but without records.
func (e *environment) newFleet(t *testing.T) *members.Fleet {
	t.Helper()
	return members.New(e.fleetOptions(t))
}

func (e *environment) fleetOptions(t *testing.T) members.Options {
	t.Helper()
	rules, err := config.Member.Rules()
	if err != nil {
		t.Fatal(err)
	}
	definition, err := config.Definition(v1.GroupName, "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	if err := e.hub.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	return members.Options{
		HubUID: string(system.UID),
		Scheme: e.hub.Scheme(),
		Clock:  e.clock,
		Logger: framework.Log(t),
		Profile: members.Profile{
			Watched:     func() []client.Object { return []client.Object{&v1.EcommerceApp{}, &corev1.Secret{}} },
			Prepare:     members.InstallDefinitions(definition),
			Permissions: members.PermissionsFrom(rules),
		},
		Timeouts: framework.Timeouts(),
		Periods:  members.Periods{Retry: time.Second, Inspect: time.Second, Renew: time.Second, Pods: time.Second},
	}
}

// engagements remembers with which clusters the hub works now.
type engagements struct {
	mu      sync.Mutex
	current map[multicluster.ClusterName]cluster.Cluster
	count   map[multicluster.ClusterName]int
	// fail returns the error of an engagement; nil for none.
	fail func() error
}

func newEngagements() *engagements {
	return &engagements{
		current: map[multicluster.ClusterName]cluster.Cluster{}, count: map[multicluster.ClusterName]int{},
	}
}

// Engage implements multicluster.Aware.
func (e *engagements) Engage(ctx context.Context, name multicluster.ClusterName, c cluster.Cluster) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count[name]++
	if e.fail != nil {
		if err := e.fail(); err != nil {
			return err
		}
	}
	e.current[name] = c
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.current[name] == c {
			delete(e.current, name)
		}
	})
	return nil
}

// Start implements manager.Runnable.
func (e *engagements) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (e *engagements) has(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current[multicluster.ClusterName(name)] != nil
}

func (e *engagements) times(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count[multicluster.ClusterName(name)]
}
