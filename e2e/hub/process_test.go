package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

// TestProcess runs the hub as a process, with one member.
func TestProcess(t *testing.T) {
	t.Parallel()
	p := &process{address: framework.FreeAddress(t), Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub:     fleet.ClusterSpec{Name: "hub", APIServerOnly: true},
			Members: []fleet.ClusterSpec{{Name: "eu-1", APIServerOnly: true}},
		},
		Manifests: map[string][]string{"hub": {"config/rbac/hub"}},
	})}
	p.kubeconfig = p.KubeconfigFile(t, p.Fleet.Hub(), config.HubServiceAccount)
	const ready, former = "waits for the kinds", "a former leader writes nothing"
	var steps framework.Steps
	steps.Add(ready, p.testMissingDefinitions)
	steps.Add(former, p.testFormerLeader, ready)
	steps.Add("etcd of the hub is full", p.testNoSpace, former)
	steps.Add("exits with an error when it loses the lease", p.testLostLease, ready)
	steps.Run(t)
}

// leaseDuration is that of the hubs, which must renew their Lease on a busy machine too.
const leaseDuration = 10 * time.Second

type process struct {
	*framework.Environment
	kubeconfig, address string
}

// run runs a hub that wants to lead. The channel carries how it ended.
func (p *process) run(t *testing.T) (stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	options := p.options(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- setup.Run(ctx, options)
	}()
	return cancel, done
}

// options returns those of a hub that wants to lead.
func (p *process) options(t *testing.T) setup.Options {
	t.Helper()
	return setup.Options{
		// Each process has a token of its own, as a pod does.
		Kubeconfig: p.KubeconfigFile(t, p.Fleet.Hub(), config.HubServiceAccount), Namespace: config.Namespace, Version: "test",
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
	if err := p.checkLease(t.Context(), false); !apierrors.IsNotFound(err) {
		t.Errorf("it may lead without its definitions: %v", err)
	}
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

// testNoSpace makes etcd of the hub refuse all writes for longer than the Lease lasts: the leader
// ends, and the next one waits until it can write.
func (p *process) testNoSpace(t *testing.T) {
	t.Helper()
	stop, ended := p.run(t)
	defer stop()
	app := small("no-space", "eu-1")
	p.Create(t, app)
	p.awaitCopy(t, app, "shop:v1")
	copied := app.DeepCopy()
	if err := p.Members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil {
		t.Fatal(err)
	}
	marked := p.Mark(t)
	p.setNoSpace(t, true)
	t.Cleanup(func() { p.setNoSpace(t, false) })
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the hub could not renew its lease and ended as if it had been told to")
		}
	case <-time.After(fleettest.Timeout):
		t.Fatal("the hub goes on without its lease")
	}
	lost := p.Mark(t)
	stop, ended = p.run(t)
	defer stop()
	p.awaitProbe(t, "/healthz", http.StatusOK)
	p.awaitProbe(t, "/readyz", http.StatusOK)
	if log := p.Since(t, lost, p.Fleet.Member("eu-1")).Writes(); len(log) > 0 {
		t.Errorf("a hub that could not lead wrote to a member:\n%s", log)
	}
	p.setNoSpace(t, false)
	p.setImage(t, app, "shop:v2")
	p.awaitCopy(t, app, "shop:v2")
	now := app.DeepCopy()
	if err := p.Members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(app), now); err != nil || now.UID != copied.UID {
		t.Errorf("the copy is another one (%v)", err)
	}
	if log := p.Since(t, marked, p.Fleet.Member("eu-1")).Deletes(); len(log) > 0 {
		t.Errorf("the hub deleted:\n%s", log)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("told to end, it ended with: %v", err)
	}
}

func (p *process) setNoSpace(t *testing.T, full bool) {
	t.Helper()
	if err := p.Fleet.Hub().SetNoSpace(context.WithoutCancel(t.Context()), full); err != nil {
		t.Fatal(err)
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
