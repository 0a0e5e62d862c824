package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/operator"
)

// TestProcess is about the hub as a process, with one member.
func TestProcess(t *testing.T) {
	p := &process{address: framework.FreeAddress(t), Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub:     fleet.ClusterSpec{Name: "hub", APIServerOnly: true},
			Members: []fleet.ClusterSpec{{Name: "eu-1", APIServerOnly: true}},
		},
		Manifests: map[string][]string{"hub": {"config/rbac/hub"}},
	})}
	p.kubeconfig = p.KubeconfigFile(t, p.Fleet.Hub(), config.HubServiceAccount)
	const ready = "waits for the kinds"
	var steps framework.Steps
	steps.Add(ready, p.testMissingDefinitions)
	steps.Add("a former leader writes nothing", p.testFormerLeader, ready)
	steps.Add("exits with an error when it loses the lease", p.testLostLease, ready)
	steps.Run(t)
}

// leaseDuration is that of the hubs.
const leaseDuration = 6 * time.Second

type process struct {
	*framework.Environment
	kubeconfig, address string
}

// run runs a hub that wants to lead. The channel carries how it ended.
func (p *process) run(t *testing.T) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- setup.Run(ctx, p.options(t))
	}()
	return cancel, done
}

// options returns those of a hub that wants to lead.
func (p *process) options(t *testing.T) setup.Options {
	t.Helper()
	return setup.Options{
		Kubeconfig: p.kubeconfig, Namespace: config.Namespace, Version: "test",
		Options: shared.Options{
			MetricsBindAddress: "0", HealthProbeBindAddress: p.address, LeaderElect: true, LeaseDuration: leaseDuration,
			Logger: framework.Log(t),
		},
	}
}

// probe asks for /healthz or /readyz.
func (p *process) probe(ctx context.Context, path string) (int, error) {
	return framework.Probe(ctx, "http://"+p.address+path)
}

func (p *process) awaitProbe(t *testing.T, path string, want int) {
	t.Helper()
	framework.Eventually(t, path, func(ctx context.Context) error {
		if got, err := p.probe(ctx, path); err != nil || got != want {
			return fmt.Errorf("answers %d (%w), want %d", got, err, want)
		}
		return nil
	})
}

// testMissingDefinitions starts the hub before its CRDs exist.
func (p *process) testMissingDefinitions(t *testing.T) {
	t.Helper()
	stop, ended := p.run(t)
	p.awaitProbe(t, "/healthz", http.StatusOK)
	p.awaitProbe(t, "/readyz", http.StatusInternalServerError)
	framework.Apply(t, p.Fleet.Hub(), "config/crd/bases")
	p.awaitProbe(t, "/readyz", http.StatusOK)

	app := small("waiting")
	p.Create(t, app)
	p.AwaitApp(t, app, "the hub to say that there is no cluster", func(status *v1.EcommerceAppStatus) error {
		placed := framework.Condition(status.Conditions, v1.ConditionPlaced)
		if status.Phase != v1.PhasePending || placed.Status != metav1.ConditionFalse || placed.Reason != v1.ReasonNoReadyCluster {
			return fmt.Errorf("placed is %+v", placed)
		}
		return nil
	})
	p.Delete(t, app)

	stop()
	if err := <-ended; err != nil {
		t.Errorf("told to end, it ended with: %v", err)
	}
	if err := p.checkLease(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// lease is the name of the hub's Lease.
const lease = "shopfleet-hub"

// checkLease returns an error unless a process leads, or none if want is false.
func (p *process) checkLease(ctx context.Context, want bool) error {
	found := &coordinationv1.Lease{}
	if err := p.Hub.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: lease}, found); err != nil {
		return err
	}
	if held := ptr.Deref(found.Spec.HolderIdentity, "") != ""; held != want {
		return fmt.Errorf("the lease is held: %t, want %t", held, want)
	}
	return nil
}

// testLostLease gives the Lease to another holder.
func (p *process) testLostLease(t *testing.T) {
	t.Helper()
	stop, ended := p.run(t)
	defer stop()
	framework.Eventually(t, "the hub to lead", func(ctx context.Context) error { return p.checkLease(ctx, true) })
	framework.TakeLease(t, p.Hub, lease)
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the hub lost its lease and ended as if it had been told to")
		}
	case <-time.After(fleettest.Timeout):
		t.Error("the hub goes on without its lease")
	}
}
