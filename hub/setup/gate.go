package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/crds"
)

var (
	errClosed    = errors.New("the controllers are not running yet")
	errNotServed = errors.New("the API server does not serve the CustomResourceDefinitions of this release; " +
		"apply them from its sources with kubectl apply --server-side -f config/crd/bases, or install the hub again with its plugin")
	errHeld = errors.New("the hub does not lead before the API server serves its CustomResourceDefinitions")
)

// logPeriod is how often a hub that waits says for what: client-go logs the Lease that it may not read yet all the time.
const logPeriod = 10 * time.Minute

// gate waits until the API server serves the hub's definitions with all their fields, and then calls open once: the API
// server drops unknown fields from each status that the hub writes, without an error. It is safe for concurrent use.
type gate struct {
	definitions crds.Definitions
	server      rest.Interface
	// mapper is that of the controllers.
	mapper meta.RESTMapper
	logger logr.Logger
	clock  clock.PassiveClock
	open   func(context.Context) error
	opened atomic.Bool
	// missing has what the API server did not serve when it was asked last; nil before that.
	missing atomic.Pointer[[]string]
	// logged is when the hub logged last for what it waits. Only isServed uses it.
	logged time.Time
}

func newGate(cfg *rest.Config, mapper meta.RESTMapper, logger logr.Logger, open func(context.Context) error) (*gate, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	definitions, err := config.Hub.Definitions()
	if err != nil {
		return nil, fmt.Errorf("loading the definitions of the hub: %w", err)
	}
	return &gate{definitions: definitions, server: d.RESTClient(), mapper: mapper, logger: logger, clock: clock.RealClock{}, open: open}, nil
}

// heldUntil returns a configuration whose requests wait for opened. The Lease is held by it: a hub that waits for its
// definitions must not lead in place of one of the release before.
func heldUntil(opened <-chan struct{}, cfg *rest.Config) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &held{next: next, opened: opened} })
	return c
}

type held struct {
	next   http.RoundTripper
	opened <-chan struct{}
}

// RoundTrip blocks until the gate opens, or returns errHeld. Until then the only request is the first read of the Lease.
func (h *held) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-h.opened:
		return h.next.RoundTrip(request)
	case <-request.Context().Done():
		return nil, errHeld
	}
}

// NeedLeaderElection returns false: a standby must become ready too. Controllers that are
// added wait for leader election themselves.
func (g *gate) NeedLeaderElection() bool { return false }

// Start waits for the definitions, calls open, and returns.
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

// await blocks until the definitions are served. It returns false if the context ends before.
func (g *gate) await(ctx context.Context) bool {
	return wait.PollUntilContextCancel(ctx, retryPeriod, true, g.isServed) == nil
}

// isServed reports whether the API server serves the definitions. It logs what is missing when that changes, and again after
// logPeriod. The error is always nil. Calls must not overlap.
func (g *gate) isServed(ctx context.Context) (bool, error) {
	missing, err := g.unserved(ctx)
	if err != nil {
		g.logger.Error(err, "Reading what the API server serves failed, retrying")
		return false, nil
	}
	last, now := g.missing.Swap(&missing), g.clock.Now()
	if len(missing) > 0 && (last == nil || !slices.Equal(*last, missing) || now.Sub(g.logged) >= logPeriod) {
		g.logged = now
		g.logger.Info("Waiting for the API server to serve all fields that the hub uses; apply config/crd/bases", "missing", missing)
	}
	return len(missing) == 0, nil
}

// unserved returns a line for each definition that is not served with all its fields, by a request to the API server.
func (g *gate) unserved(ctx context.Context) ([]string, error) {
	document, err := g.server.Get().AbsPath("/openapi/v3/apis", v1.GroupVersion.Group, v1.GroupVersion.Version).
		SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		document = nil // No definition is installed.
	case err != nil:
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", v1.GroupVersion, err)
	}
	return g.definitions.Unserved(document, v1.GroupVersion, g.mapper)
}

// check fails until the gate is open. It is a readiness check.
func (g *gate) check(*http.Request) error {
	if g.opened.Load() {
		return nil
	}
	if missing := g.missing.Load(); missing != nil && len(*missing) > 0 {
		return fmt.Errorf("%w: %s", errNotServed, strings.Join(*missing, "; "))
	}
	return errClosed
}
