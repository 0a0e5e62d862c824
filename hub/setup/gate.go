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

var errWaitingForKinds = errors.New("the API server does not serve all required kinds yet: apply the CustomResourceDefinitions in config/crd/bases")

// kinds returns the kinds that the hub's controllers watch.
func kinds() []string {
	return []string{"EcommerceApp", "MemberCluster", "CloudAccount", "Backup", "Restore", "Plan"}
}

// gate waits until the API server serves the required kinds, and then calls open once. It
// is safe for concurrent use.
type gate struct {
	discovery discovery.ServerResourcesInterface
	logger    logr.Logger
	open      func(context.Context) error
	opened    atomic.Bool
}

func newGate(cfg *rest.Config, logger logr.Logger, open func(context.Context) error) (*gate, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	return &gate{discovery: d, logger: logger, open: open}, nil
}

// NeedLeaderElection returns false: a standby must become ready too. Controllers that are
// added wait for leader election themselves.
func (g *gate) NeedLeaderElection() bool { return false }

// Start waits for the kinds, calls open, and returns.
func (g *gate) Start(ctx context.Context) error {
	if !g.await(ctx) {
		return nil // The context ended first.
	}
	if err := g.open(ctx); err != nil {
		return fmt.Errorf("adding the controllers: %w", err)
	}
	g.opened.Store(true)
	return nil
}

// await blocks until the kinds are served. It returns false if the context ends before.
func (g *gate) await(ctx context.Context) bool {
	logged := false
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		missing, err := g.missing()
		if len(missing) > 0 && !logged {
			logged = true
			g.logger.Info("Waiting for the API server to serve kinds; apply config/crd/bases", "kinds", missing, "error", err)
		}
		return len(missing) == 0, nil
	})
	return err == nil
}

// missing returns the kinds that are not served, by a request to the API server. Without
// a response, it returns all kinds and the error.
func (g *gate) missing() ([]string, error) {
	list, err := g.discovery.ServerResourcesForGroupVersion(v1.GroupVersion.String())
	if err != nil {
		return kinds(), fmt.Errorf("discovering %s: %w", v1.GroupVersion, err)
	}
	return slices.DeleteFunc(kinds(), func(kind string) bool {
		return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
	}), nil
}

// check fails until the gate is open. It is a readiness check.
func (g *gate) check(*http.Request) error {
	if !g.opened.Load() {
		return errWaitingForKinds
	}
	return nil
}
