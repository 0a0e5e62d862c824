package hub_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/testenv"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/operator"
)

// TestProcess is about the hub as a process, on a hub without members.
func TestProcess(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}})
	if err := f.Hub().ApplyFolder(t.Context(), "../../config/rbac/hub"); err != nil {
		t.Fatal(err)
	}
	p := &process{fleet: f, hub: framework.Admin(t, f.Hub()), address: freeAddress(t)}
	p.kubeconfig = filepath.Join(t.TempDir(), "hub.kubeconfig")
	if err := os.WriteFile(p.kubeconfig, testenv.Kubeconfig(t, f.Hub(), config.HubServiceAccount), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("waits for the kinds", p.waitsForKinds)
	t.Run("exits with an error when it loses the lease", p.losesLease)
}

type process struct {
	fleet               *fleet.Fleet
	hub                 client.WithWatch
	kubeconfig, address string
}

// run runs a hub that wants to lead. The channel carries how it ended.
func (p *process) run(t *testing.T) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- setup.Run(ctx, setup.Options{
			Kubeconfig: p.kubeconfig, Namespace: config.Namespace, Version: "test",
			Options: shared.Options{
				MetricsBindAddress: "0", HealthProbeBindAddress: p.address, LeaderElect: true, LeaseDuration: 6 * time.Second,
				Logger: framework.Log(t),
			},
		})
	}()
	return cancel, done
}

// probe asks for /healthz or /readyz.
func (p *process) probe(ctx context.Context, path string) (int, error) {
	return framework.Probe(ctx, "http://"+p.address+path)
}

func (p *process) awaitProbe(t *testing.T, path string, want int) {
	t.Helper()
	testenv.Eventually(t, path, func(ctx context.Context) error {
		if got, err := p.probe(ctx, path); err != nil || got != want {
			return fmt.Errorf("answers %d (%w), want %d", got, err, want)
		}
		return nil
	})
}

// waitsForKinds starts the hub before its CRDs exist.
func (p *process) waitsForKinds(t *testing.T) {
	stop, ended := p.run(t)
	p.awaitProbe(t, "/healthz", http.StatusOK)
	p.awaitProbe(t, "/readyz", http.StatusInternalServerError)
	if err := p.fleet.Hub().ApplyFolder(t.Context(), "../../config/crd/bases"); err != nil {
		t.Fatal(err)
	}
	p.awaitProbe(t, "/readyz", http.StatusOK)

	s := &testenv.Environment{Fleet: p.fleet, Hub: p.hub}
	app := small("waiting")
	s.Create(t, app)
	s.AwaitApp(t, app, "the hub to say that there is no cluster", func(status *v1.EcommerceAppStatus) error {
		placed := framework.Condition(status.Conditions, v1.ConditionPlaced)
		if status.Phase != v1.PhasePending || placed.Status != metav1.ConditionFalse || placed.Reason != v1.ReasonNoReadyCluster {
			return fmt.Errorf("placed is %+v", placed)
		}
		return nil
	})
	if err := p.hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "it to be gone", func(ctx context.Context) error { return testenv.Gone(ctx, p.hub, app) })

	stop()
	if err := <-ended; err != nil {
		t.Errorf("told to end, it ended with: %v", err)
	}
	if err := p.held(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func (p *process) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := p.hub.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: "shopfleet-hub"}, lease)
	return lease, err
}

// held returns an error unless somebody leads, or nobody.
func (p *process) held(ctx context.Context, want bool) error {
	lease, err := p.lease(ctx)
	if err != nil {
		return err
	}
	holder := lease.Spec.HolderIdentity
	if held := holder != nil && *holder != ""; held != want {
		return fmt.Errorf("the lease is held: %t, want %t", held, want)
	}
	return nil
}

// losesLease gives the lease to somebody else.
func (p *process) losesLease(t *testing.T) {
	stop, ended := p.run(t)
	defer stop()
	testenv.Eventually(t, "the hub to lead", func(ctx context.Context) error { return p.held(ctx, true) })
	// The leader renews all the time, so that taking the lease may take a few tries.
	testenv.Eventually(t, "the lease to be taken", func(ctx context.Context) error {
		lease, err := p.lease(ctx)
		if err != nil {
			return err
		}
		lease.Spec.HolderIdentity = new("somebody-else")
		lease.Spec.LeaseDurationSeconds = new(int32(600))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		return p.hub.Update(ctx, lease)
	})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the hub lost its lease and ended as if it had been told to")
		}
	case <-time.After(fleettest.Timeout):
		t.Error("the hub goes on without its lease")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}
