package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/capacity"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Connection is one connection to a member with its informers. It is safe for concurrent
// use. It ends with the context that it was opened with, with Close, or when its cache
// fails.
type Connection struct {
	// Access is the kubeconfig in use.
	Access *kubeconfig.Access
	// Mode is the mode that the connection was opened for.
	Mode v1.Mode
	// Paused means that the connection was opened for a member that is paused.
	Paused bool
	// RecordClient is the member's record; nil if none is kept.
	Record *RecordClient
	// Cluster is the cluster for reconcilers.
	Cluster cluster.Cluster
	// Engage starts the reconcilers of aware on the cluster, under the member's name,
	// until the connection ends. Reconcilers must not wait for the network; it takes at most
	// Timeouts.Sync if one does.
	Engage func(aware multicluster.Aware, name string) error

	settings  *Settings
	transport *transport.Transport
	watches   *watches
	direct    client.Client // uncached
	cancel    context.CancelFunc
	ended     chan struct{}
}

// Close ends the connection without waiting for it.
func (c *Connection) Close() { c.cancel() }

// Ended returns a channel that is closed when the informers have stopped and the
// connections are closed, also if the cache failed.
func (c *Connection) Ended() <-chan struct{} { return c.ended }

// Probe returns the identity of the cluster; see transport.Probe.
func (c *Connection) Probe(ctx context.Context) (string, error) { return c.transport.Probe(ctx) }

// Explain returns the failure for an error of Probe at the given time.
func (c *Connection) Explain(err error, now time.Time) *health.Failure {
	return explainProbe(c.Access, now, err)
}

// Inspect reads the record, permissions and capabilities, and compares the definitions. It
// restores a record that was deleted, updates definitions that differ, and reports those
// that are missing; in mode Agent it only compares. If the hub must not manage the member, only
// Refused is set. It takes at most Timeouts.Review plus Timeouts.Prepare, and two requests.
func (c *Connection) Inspect(ctx context.Context) (*Inspection, error) {
	// First: no other error must hide that another hub has taken the member over.
	refused, unread := c.Record.check(ctx)
	if refused != nil {
		return &Inspection{Refused: refused}, nil
	}
	found, err := c.settings.inspect(ctx, c.transport, c.Access, c.Mode)
	if err != nil || found.Blocked() {
		return found, err
	}
	if err = unread; err == nil && !c.Paused {
		err = c.Record.claim(ctx)
	}
	if err == nil {
		found.Definitions, err = c.compareDefinitions(ctx)
	}
	if apierror.Classify(err) == apierror.Forbidden && len(found.Missing) > 0 {
		return found, nil // The missing permissions explain the error.
	}
	return found, err
}

// ExplainInspection returns the failure for an error of Inspect.
func (c *Connection) ExplainInspection(member string, err error) *health.Failure {
	a := &Attempt{Settings: c.settings, Name: member, Access: c.Access}
	if errors.Is(err, context.DeadlineExceeded) { // Probes, which ask less, may succeed.
		return a.fail(health.StepSetup, v1.ReasonSetupFailed, "permissions, definitions and the record could not be read in time", err)
	}
	return a.stepFailed(health.StepSetup, err)
}

func (c *Connection) compareDefinitions(ctx context.Context) (crds.DefinitionFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeouts.Prepare)
	defer cancel()
	if c.Mode == v1.ModeAgent || c.Paused {
		return c.settings.profile(c.Mode).Prepare.Verify(ctx, c.direct)
	}
	return c.settings.Agentless.Prepare.Check(ctx, c.direct)
}

// SampleLease reads the agent's Lease.
func (c *Connection) SampleLease(ctx context.Context) (health.LeaseSample, error) {
	return c.settings.sampleLease(ctx, c.transport)
}

// sampleLease reads the Lease of a cluster's agent.
func (s *Settings) sampleLease(ctx context.Context, t *transport.Transport) (health.LeaseSample, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeouts.Probe)
	defer cancel()
	leases, err := coordinationv1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return health.LeaseSample{}, fmt.Errorf("creating a client for leases: %w", err)
	}
	lease, err := leases.Leases(s.Lease.Namespace).Get(ctx, s.Lease.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return health.LeaseSample{}, nil
	}
	if err != nil {
		return health.LeaseSample{}, fmt.Errorf("reading the agent's lease: %w", err)
	}
	sample := health.LeaseSample{Present: true, Version: lease.Labels[v1.VersionLabel]}
	if lease.Spec.HolderIdentity != nil {
		sample.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		sample.Renewed = lease.Spec.RenewTime.UnixMicro()
	}
	return sample, nil
}

// Nodes aggregates the nodes in the cache, without a request.
func (c *Connection) Nodes(ctx context.Context) (capacity.NodeFacts, error) {
	list := &corev1.NodeList{}
	if err := c.Cluster.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return capacity.NodeFacts{}, fmt.Errorf("listing nodes: %w", err)
	}
	return capacity.Nodes(list.Items), nil
}

// Requested returns what the pods on the nodes request; nil if the credentials must not list pods. It
// takes at most Timeouts.Pods.
func (c *Connection) Requested(ctx context.Context) (corev1.ResourceList, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeouts.Pods)
	defer cancel()
	core, err := corev1client.NewForConfigAndClient(c.transport.LimitedConfig(), c.transport.LimitedClient())
	if err != nil {
		return nil, fmt.Errorf("creating a client for pods: %w", err)
	}
	return capacity.Requested(ctx, core.RESTClient())
}

// open creates a cluster for the transport and starts its cache, which is still empty.
// The connection ends with ctx, the context of the member.
func (s *Settings) open(ctx context.Context, a *Attempt, t *transport.Transport) (*Connection, error) {
	watched := newWatches(t.LimitedClient().Transport, s.Clock)
	member, err := cluster.New(t.LimitedConfig(), func(options *cluster.Options) {
		options.Scheme = s.Scheme
		options.Logger = s.Logger
		options.HTTPClient = t.LimitedClient()
		options.Cache = s.profile(a.Mode).cacheOptions(a.Unserved)
		options.Cache.HTTPClient = &http.Client{Transport: watched}
	})
	if err != nil {
		return nil, fmt.Errorf("building a cluster: %w", err)
	}
	direct, err := client.New(t.Config(), client.Options{HTTPClient: t.Client(), Scheme: s.Scheme, Mapper: member.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating an uncached client: %w", err)
	}
	connCtx, cancel := context.WithCancel(ctx)
	c := &Connection{
		Access: a.Access, Mode: a.Mode, Paused: a.Paused, Cluster: member,
		settings: s, transport: t, watches: watched, direct: direct, cancel: cancel, ended: make(chan struct{}),
	}
	c.Engage = func(aware multicluster.Aware, name string) error {
		return engage(connCtx, engageOptions{
			aware: aware, name: multicluster.ClusterName(name), cluster: member,
			cancel: cancel, clock: s.Clock, limit: s.Timeouts.Sync,
		})
	}
	go func() {
		defer close(c.ended)
		if err := member.Start(connCtx); err != nil {
			s.Logger.Error(err, "Cache of member stopped")
		}
		cancel()
		t.Close()
	}()
	return c, nil
}

// cacheOptions returns the configured options, reduced for nodes, with a watch error
// handler that calls unserved when the API server returns 404.
func (p *Profile) cacheOptions(unserved func()) cache.Options {
	options := p.CacheOptions()
	byObject := maps.Clone(options.ByObject)
	if byObject == nil {
		byObject = map[client.Object]cache.ByObject{}
	}
	byObject[&corev1.Node{}] = cache.ByObject{Transform: capacity.Slim}
	options.ByObject = byObject
	handle := options.DefaultWatchErrorHandler
	if handle == nil {
		handle = toolscache.DefaultWatchErrorHandler
	}
	options.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			unserved()
		}
		handle(ctx, r, err)
	}
	return options
}

type engageOptions struct {
	aware   multicluster.Aware
	name    multicluster.ClusterName
	cluster cluster.Cluster
	cancel  context.CancelFunc
	clock   clock.Clock
	limit   time.Duration
}

var errEngageLate = errors.New("timed out starting reconcilers")

// engage calls aware.Engage, which should return immediately. If it blocks on an
// informer, the end of the context releases it.
func engage(connCtx context.Context, e engageOptions) error {
	engaged := make(chan error, 1)
	go func() { engaged <- e.aware.Engage(connCtx, e.name, e.cluster) }()
	timer := e.clock.NewTimer(e.limit)
	defer timer.Stop()
	select {
	case err := <-engaged:
		if err != nil {
			return fmt.Errorf("starting reconcilers: %w", err)
		}
		return nil
	case <-timer.C():
		e.cancel()
		return errEngageLate
	case <-connCtx.Done():
		return fmt.Errorf("starting reconcilers: %w", connCtx.Err())
	}
}

// onNodes registers a function that is called on each change of a node. It must not
// block.
func (c *Connection) onNodes(ctx context.Context, call func()) error {
	informer, err := c.Cluster.GetCache().GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("getting the informer of nodes: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { call() },
		UpdateFunc: func(any, any) { call() },
		DeleteFunc: func(any) { call() },
	})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	return nil
}
