package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

var errWaitingForKinds = errors.New("the API server does not serve all of our kinds yet")

// kinds are those that the hub's controllers read.
func kinds() []string {
	return []string{"EcommerceApp", "MemberCluster", "CloudAccount", "Backup", "Restore"}
}

// gate waits until the hub serves our kinds, and then opens once.
type gate struct {
	discovery discovery.ServerResourcesInterface
	logger    logr.Logger
	open      func(context.Context) error
	opened    atomic.Bool
}

func newGate(cfg *rest.Config, logger logr.Logger, open func(context.Context) error) (*gate, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client of the hub: %w", err)
	}
	return &gate{discovery: d, logger: logger, open: open}, nil
}

// NeedLeaderElection is false: a standby is ready as well. What the gate adds waits
// for the lease by itself.
func (g *gate) NeedLeaderElection() bool { return false }

// Start waits, opens, and ends.
func (g *gate) Start(ctx context.Context) error {
	if !g.await(ctx) {
		return nil // The hub ended first.
	}
	if err := g.open(ctx); err != nil {
		return fmt.Errorf("adding the controllers: %w", err)
	}
	g.opened.Store(true)
	return nil
}

// await waits until our kinds are served; false if the context ended before.
func (g *gate) await(ctx context.Context) bool {
	said := false
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		missing, err := g.missing()
		if len(missing) > 0 && !said {
			said = true
			g.logger.Info("Waiting for kinds to be served; apply config/crd/bases", "kinds", missing, "answer", err)
		}
		return len(missing) == 0, nil
	})
	return err == nil
}

// missing returns the kinds that are not served. It asks the API server, not a cache of
// what it once said; when there is no answer, all are missing, and the error says why.
func (g *gate) missing() ([]string, error) {
	list, err := g.discovery.ServerResourcesForGroupVersion(v1.GroupVersion.String())
	if err != nil {
		return kinds(), fmt.Errorf("discovering %s: %w", v1.GroupVersion, err)
	}
	return slices.DeleteFunc(kinds(), func(kind string) bool {
		return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
	}), nil
}

// check is the readiness check.
func (g *gate) check(*http.Request) error {
	if !g.opened.Load() {
		return errWaitingForKinds
	}
	return nil
}
