package hub_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/operator"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// stage is a fleet with a hub that can be started and stopped.
type stage struct {
	fleet *fleet.Fleet
	// hub and members are clients of administrators.
	hub     client.Client
	members map[string]client.Client
	// kubeconfig is the hub's own, with the permissions that are shipped.
	kubeconfig string

	stop func()
}

func newStage(t *testing.T, members ...fleet.ClusterSpec) *stage {
	t.Helper()
	s := &stage{members: map[string]client.Client{}, stop: func() {}}
	s.fleet = fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: members})
	var group sync.WaitGroup
	for _, c := range s.fleet.Clusters() {
		folders := []string{"rbac/member"}
		if c == s.fleet.Hub() {
			folders = []string{"crd/bases", "rbac/hub"}
		}
		group.Go(func() {
			for _, folder := range folders {
				if err := c.ApplyFolder(t.Context(), "../../config/"+folder); err != nil {
					t.Errorf("preparing %s: %v", c.Name(), err)
				}
			}
		})
	}
	group.Wait()
	s.hub = framework.Admin(t, s.fleet.Hub())
	s.kubeconfig = filepath.Join(t.TempDir(), "hub.kubeconfig")
	if err := os.WriteFile(s.kubeconfig, serviceAccount(t, s.fleet.Hub()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		s.members[m.Name] = framework.Admin(t, s.fleet.Member(m.Name))
	}
	t.Cleanup(func() { s.stop() })
	return s
}

// serviceAccount returns a kubeconfig with the hub's permissions in a cluster.
func serviceAccount(t *testing.T, c *fleet.Cluster) []byte {
	t.Helper()
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, config.HubServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// start runs a hub until stop, as a process would.
func (s *stage) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	options := setup.Options{
		Kubeconfig: s.kubeconfig, Namespace: config.Namespace, Version: "test",
		Options: shared.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: framework.Log(t)},
	}
	go func() { done <- setup.Run(ctx, options) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the hub ended with an error: %v", err)
			}
		})
	}
}

// restart ends the hub and starts another.
func (s *stage) restart(t *testing.T) {
	t.Helper()
	s.stop()
	s.start(t)
}

// register makes a registration Secret of a member.
func (s *stage) register(t *testing.T, name string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: name,
			Labels: map[string]string{v1.MemberClusterLabel: "true"},
		},
		Data: map[string][]byte{v1.KubeconfigKey: serviceAccount(t, s.fleet.Member(name))},
	}
	if err := s.hub.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// awaitMembers waits until members are Ready.
func (s *stage) awaitMembers(t *testing.T, names ...string) {
	t.Helper()
	fleettest.Eventually(t, "members to be Ready", func(ctx context.Context) error {
		for _, name := range names {
			m := &v1.MemberCluster{}
			if err := s.hub.Get(ctx, client.ObjectKey{Name: name}, m); err != nil {
				return err
			}
			if c := framework.Condition(m.Status.Conditions, v1.ConditionReady); c.Status != metav1.ConditionTrue {
				return fmt.Errorf("%s is not Ready: %s: %s", name, c.Reason, c.Message)
			}
		}
		return nil
	})
}

// memberNames returns the members, sorted.
func memberNames() []string { return []string{"asia-1", "eu-1", "us-1"} }
