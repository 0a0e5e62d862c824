package restore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// TestConnectionWakes checks that a Restore whose member is not connected goes on when it is, long before the next
// attempt that needs no event.
func TestConnectionWakes(t *testing.T) {
	d := &dumpTest{Env: backupenv.Start(t)}
	d.start = d.Clock.Now()
	d.CreateShop(t)
	d.reset(t, elsewhere)
	mgr, err := ctrl.NewManager(d.Config, ctrl.Options{Scheme: d.Scheme(), Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	away.Store(true)
	changes, options := &backupenv.Changes{}, d.options
	options.Members = changes
	options.Member = func(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
		if away.Load() {
			return nil, apierror.ErrNotConnected
		}
		return d.process.Member(ctx, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Setup(ctx, mgr, options); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	await := func(reason string) {
		t.Helper()
		fleettest.Eventually(t, "the Restore to wait for "+reason, func(ctx context.Context) error {
			r := &v1.Restore{}
			if err := d.Get(ctx, d.key, r); err != nil {
				return err
			}
			if got := reasonOf(r); got != reason {
				return fmt.Errorf("it waits for %q: %s", got, r.Status.Message)
			}
			return nil
		})
	}
	await(v1.ReasonClusterUnreachable)
	// That of the target and that of the source, where Secrets may be read.
	r := NewReconciler(mgr.GetClient(), options)
	for member, want := range map[string]int{backupenv.Member: 1, backupenv.Other: 1, "stranger": 0} {
		if got := len(r.activeRequests(t.Context(), member)); got != want {
			t.Errorf("a change of %s requests %d Restores, want %d", member, got, want)
		}
	}
	away.Store(false)
	changes.Notify()
	await(v1.ReasonStoppingApplication)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
