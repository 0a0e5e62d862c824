package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	hubsetup "github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

// The members: eu begins without an agent, us with one.
const (
	eu, euRegion = "eu-1", "eu-west-1"
	us, usRegion = "us-1", "us-central1"
)

// longestWait bounds all waits of the hub and the agents, resyncs included. They add up to
// 30 % by chance.
const longestWait = 3 * time.Second

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// suite is an environment with agents that can be started and stopped, and the sample's
// shop in it.
type suite struct {
	*framework.Environment
	shop *v1.EcommerceApp
	// stopAgent ends the agents that run, by member.
	stopAgent map[string]func()
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{shop: apitest.Seed(), stopAgent: map[string]func(){}, Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: "hub"},
			Members: []fleet.ClusterSpec{
				{Name: eu, Provider: fleet.AWS, Region: euRegion, Nodes: 2},
				{Name: us, Provider: fleet.GCP, Region: usRegion, Nodes: 2},
			},
		},
		Manifests: map[string][]string{us: {framework.AgentManifests}},
		Hub: func(o *hubsetup.Options) {
			o.Waits, o.Timeouts = retry.Waits{Scale: 0.1, Longest: longestWait}, framework.Timeouts()
		},
	})}
}

// startAgent runs a spoke in a member, as its Deployment would.
func (s *suite) startAgent(t *testing.T, name string) {
	t.Helper()
	s.startAgentWith(t, name, s.KubeconfigFile(t, s.Fleet.Member(name), config.SpokeServiceAccount))
}

// startAgentWith runs a spoke with a kubeconfig from a file.
func (s *suite) startAgentWith(t *testing.T, name, kubeconfig string) {
	t.Helper()
	options := setup.Options{
		Kubeconfig: kubeconfig,
		Namespace:  config.Namespace, Version: "test", Options: framework.ProcessOptions(t),
		Registry: prometheus.NewRegistry(), Waits: retry.Waits{Longest: longestWait},
	}
	options.LeaderElect = true
	s.stopAgent[name] = s.Run("the agent of "+name, func(ctx context.Context) error { return setup.Run(ctx, options) })
}

// register makes a member in a mode: the MemberCluster, and then the Secret.
func (s *suite) register(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	s.Create(t, &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Mode: mode, Health: framework.Health()},
	})
	s.Register(t, name)
}

// setMode changes the mode of a member.
func (s *suite) setMode(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Mode = mode })
}

// awaitMember waits until a member's status is as check says.
func (s *suite) awaitMember(t *testing.T, name, what string, check func(ready, agent metav1.Condition) error) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	framework.Await(t, s.Hub, member, name+" "+what, func(m *v1.MemberCluster) error {
		ready, agent := framework.Condition(m.Status.Conditions, v1.ConditionReady), framework.Condition(m.Status.Conditions, v1.ConditionAgentReady)
		if err := check(ready, agent); err != nil {
			return fmt.Errorf("%w; Ready is %s %s (%s), AgentReady %q %s (%s)", err,
				ready.Status, ready.Reason, ready.Message, agent.Status, agent.Reason, agent.Message)
		}
		return nil
	})
}

// awaitReady waits until a member is Ready in a mode.
func (s *suite) awaitReady(t *testing.T, name string, mode v1.Mode) {
	t.Helper()
	s.awaitMember(t, name, "to be ready in mode "+string(mode), func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionTrue || (agent.Status == metav1.ConditionTrue) != (mode == v1.ModeAgent) ||
			(agent.Status == "") != (mode == v1.ModeAgentless) {
			return errors.New("is not")
		}
		return nil
	})
}

// writes returns what hub and agent wrote in a member since a mark, except for the agent's
// lease.
func (s *suite) writes(t *testing.T, m framework.Marks, name string) audit.Log {
	t.Helper()
	c := s.Fleet.Member(name)
	all := append(s.Since(t, m, c), m.By(t, c, config.SpokeServiceAccount)...)
	return all.Writes().Except("leases")
}
