package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

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
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/queues"
	hubsetup "github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/operator"
	spokesetup "github.com/shopfleet/shopfleet/spoke/setup"
)

// The members: eu begins without an agent, us with one.
const (
	eu, euRegion = "eu-1", "eu-west-1"
	us, usRegion = "us-1", "us-central1"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// environment is a fleet with a hub and agents that can be started and stopped.
type environment struct {
	fleet *fleet.Fleet
	// hub and members are clients of administrators.
	hub     client.Client
	members map[string]client.Client
	folder  string

	stopHub func(testing.TB)
	// stopAgent ends the agents that run, by member.
	stopAgent map[string]func(testing.TB)
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	s := &environment{
		members: map[string]client.Client{}, folder: t.TempDir(),
		stopHub: func(testing.TB) {}, stopAgent: map[string]func(testing.TB){},
	}
	s.fleet = fleettest.Start(t, fleet.Options{
		Hub: fleet.ClusterSpec{Name: "hub"},
		Members: []fleet.ClusterSpec{
			{Name: eu, Provider: fleet.AWS, Region: euRegion, Nodes: 2},
			{Name: us, Provider: fleet.GCP, Region: usRegion, Nodes: 2},
		},
	})
	s.hub = framework.Admin(t, s.fleet.Hub())
	for _, name := range []string{eu, us} {
		s.members[name] = framework.Admin(t, s.fleet.Member(name))
	}
	s.grant(t, s.fleet.Hub(), "crd/bases", "rbac/hub")
	t.Cleanup(func() {
		s.stopHub(t)
		for _, stop := range s.stopAgent {
			stop(t)
		}
	})
	return s
}

// grant applies folders of config.
func (s *environment) grant(t *testing.T, c *fleet.Cluster, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := c.ApplyFolder(t.Context(), "../../config/"+folder); err != nil {
			t.Fatalf("applying %s to %s: %v", folder, c.Name(), err)
		}
	}
}

// kubeconfig returns that of an account in a cluster, and the path of its file.
func (s *environment) kubeconfig(t *testing.T, c *fleet.Cluster, account string) (content []byte, path string) {
	t.Helper()
	content, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(s.folder, c.Name()+"-"+account)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return content, path
}

// startHub runs a hub until stopHub, as a process would.
func (s *environment) startHub(t *testing.T) {
	t.Helper()
	_, path := s.kubeconfig(t, s.fleet.Hub(), config.HubServiceAccount)
	s.stopHub = run(t, "hub", func(ctx context.Context) error {
		return hubsetup.Run(ctx, hubsetup.Options{
			Kubeconfig: path, Namespace: config.Namespace, Version: "test", Options: options(t),
			Waits: queues.Waits{Scale: 0.1}, Timeouts: framework.Timeouts(),
		})
	})
}

// startAgent runs a spoke in a member, as its Deployment would.
func (s *environment) startAgent(t *testing.T, name string) {
	t.Helper()
	_, path := s.kubeconfig(t, s.fleet.Member(name), config.SpokeServiceAccount)
	shared := options(t)
	shared.LeaderElect = true
	s.stopAgent[name] = run(t, "the agent of "+name, func(ctx context.Context) error {
		return spokesetup.Run(ctx, spokesetup.Options{
			Kubeconfig: path, Namespace: config.Namespace, Version: "test", Options: shared,
			Registry: prometheus.NewRegistry(),
		})
	})
}

func options(t *testing.T) operator.Options {
	t.Helper()
	return operator.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: framework.Log(t)}
}

// run runs a process until stop is called, which reports the error that the process ended
// with. A process that ends early may have lost its lease.
func run(t *testing.T, what string, start func(context.Context) error) (stop func(testing.TB)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	var once sync.Once
	return func(t testing.TB) {
		t.Helper()
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("%s ended with an error: %v", what, err)
			}
		})
	}
}

// register makes a member in a mode: the MemberCluster, and then the Secret.
func (s *environment) register(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	kubeconfig, _ := s.kubeconfig(t, s.fleet.Member(name), config.HubServiceAccount)
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Mode: mode, Health: framework.Health()}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: name,
			Labels: map[string]string{v1.MemberClusterLabel: "true"},
		},
		Data: map[string][]byte{v1.KubeconfigKey: kubeconfig},
	}
	for _, object := range []client.Object{member, secret} {
		if err := s.hub.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// setMode changes the mode of a member.
func (s *environment) setMode(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode)
	if err := s.hub.Patch(t.Context(), member, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
}

// awaitMember waits until a member's status is as check says.
func (s *environment) awaitMember(t *testing.T, name, what string, check func(ready, agent metav1.Condition) error) {
	t.Helper()
	fleettest.Eventually(t, name+" "+what, func(ctx context.Context) error {
		m := &v1.MemberCluster{}
		if err := s.hub.Get(ctx, client.ObjectKey{Name: name}, m); err != nil {
			return err
		}
		ready, agent := framework.Condition(m.Status.Conditions, v1.ConditionReady), framework.Condition(m.Status.Conditions, v1.ConditionAgentReady)
		if err := check(ready, agent); err != nil {
			return fmt.Errorf("%w; Ready is %s %s (%s), AgentReady %q %s (%s)", err,
				ready.Status, ready.Reason, ready.Message, agent.Status, agent.Reason, agent.Message)
		}
		return nil
	})
}

// awaitReady waits until a member is Ready in a mode.
func (s *environment) awaitReady(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	s.awaitMember(t, name, "to be ready in mode "+string(mode), func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionTrue || (agent.Status == metav1.ConditionTrue) != (mode == v1.ModeAgent) ||
			(agent.Status == "") != (mode == v1.ModeAgentless) {
			return errors.New("is not")
		}
		return nil
	})
}

func (s *environment) mark(t *testing.T) framework.Marks {
	t.Helper()
	return framework.Mark(t, s.fleet)
}

// since returns what an account asked of a cluster since a mark.
func (s *environment) since(t *testing.T, m framework.Marks, c *fleet.Cluster, account string) audit.Log {
	t.Helper()
	return m.Since(t, c).ByServiceAccount(config.Namespace, account)
}

// ours returns what hub and agent wrote in a member since a mark, except for the agent's
// lease.
func (s *environment) ours(t *testing.T, m framework.Marks, name string) audit.Log {
	t.Helper()
	c := s.fleet.Member(name)
	all := append(s.since(t, m, c, config.HubServiceAccount), s.since(t, m, c, config.SpokeServiceAccount)...)
	return all.Writes().Except("leases")
}
