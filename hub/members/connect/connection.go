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
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
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
	// Record is the member's record; nil if none is kept.
	Record *Record
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
func (s *Connection) Close() { s.cancel() }

// Ended returns a channel that is closed when the informers have stopped and the
// connections are closed, also if the cache failed.
func (s *Connection) Ended() <-chan struct{} { return s.ended }

// Probe returns the identity of the cluster; see transport.Probe.
func (s *Connection) Probe(ctx context.Context) (string, error) { return s.transport.Probe(ctx) }

// Explain returns the failure for an error of Probe at the given time.
func (s *Connection) Explain(err error, now time.Time) *health.Failure {
	return explainProbe(s.Access, now, err)
}

// Inspect reads the record, permissions and capabilities, and compares the definitions. It
// restores a record that was deleted, updates definitions that differ, and reports those
// that are missing; in mode Agent it only compares. If the hub must not manage the member, only
// Refused is set. It takes at most Timeouts.Review plus Timeouts.Prepare, and two requests.
func (s *Connection) Inspect(ctx context.Context) (*Inspection, error) {
	// First: no other error must hide that another hub has taken the member over.
	refused, unread := s.Record.check(ctx)
	if refused != nil {
		return &Inspection{Refused: refused}, nil
	}
	found, err := s.settings.inspect(ctx, s.transport, s.Access, s.Mode)
	if err != nil || found.Blocked() {
		return found, err
	}
	if err = unread; err == nil && !s.Paused {
		err = s.Record.claim(ctx)
	}
	if err == nil {
		found.Definitions, err = s.compareDefinitions(ctx)
	}
	if apierror.Classify(err) == apierror.Forbidden && len(found.Missing) > 0 {
		return found, nil // The missing permissions explain the error.
	}
	return found, err
}

// ExplainInspection returns the failure for an error of Inspect.
func (s *Connection) ExplainInspection(member string, err error) *health.Failure {
	a := &Attempt{Settings: s.settings, Name: member, Access: s.Access}
	if errors.Is(err, context.DeadlineExceeded) { // Probes, which ask less, may succeed.
		return a.fail(health.StepSetup, v1.ReasonSetupFailed, "permissions, definitions and the record could not be read in time", err)
	}
	return a.stepFailed(health.StepSetup, err)
}

func (s *Connection) compareDefinitions(ctx context.Context) (preflight.DefinitionFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeouts.Prepare)
	defer cancel()
	if s.Mode == v1.ModeAgent || s.Paused {
		return s.settings.profile(s.Mode).Prepare.Verify(ctx, s.direct)
	}
	return s.settings.Agentless.Prepare.Check(ctx, s.direct)
}

// SampleLease reads the agent's Lease.
func (s *Connection) SampleLease(ctx context.Context) (health.LeaseSample, error) {
	return s.settings.sampleLease(ctx, s.transport)
}

// sampleLease reads the Lease of a cluster's agent.
func (o *Settings) sampleLease(ctx context.Context, l *transport.Transport) (health.LeaseSample, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeouts.Probe)
	defer cancel()
	leases, err := coordinationv1client.NewForConfigAndClient(l.Config(), l.Client())
	if err != nil {
		return health.LeaseSample{}, fmt.Errorf("creating a client for leases: %w", err)
	}
	lease, err := leases.Leases(o.Lease.Namespace).Get(ctx, o.Lease.Name, metav1.GetOptions{})
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
func (s *Connection) Nodes(ctx context.Context) (preflight.NodeFacts, error) {
	list := &corev1.NodeList{}
	if err := s.Cluster.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return preflight.NodeFacts{}, fmt.Errorf("listing nodes: %w", err)
	}
	return preflight.Nodes(list.Items), nil
}

// Requested returns what the pods on the nodes request; nil if the credentials must not list pods. It
// takes at most Timeouts.Pods.
func (s *Connection) Requested(ctx context.Context) (corev1.ResourceList, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeouts.Pods)
	defer cancel()
	core, err := corev1client.NewForConfigAndClient(s.transport.LimitedConfig(), s.transport.LimitedClient())
	if err != nil {
		return nil, fmt.Errorf("creating a client for pods: %w", err)
	}
	return preflight.Requested(ctx, core.RESTClient())
}

// open creates a cluster for the transport and starts its cache, which is still empty.
// The connection ends with ctx, the context of the member.
func (o *Settings) open(ctx context.Context, a *Attempt, l *transport.Transport) (*Connection, error) {
	watched := newWatches(l.LimitedClient().Transport, o.Clock)
	c, err := cluster.New(l.LimitedConfig(), func(options *cluster.Options) {
		options.Scheme = o.Scheme
		options.Logger = o.Logger
		options.HTTPClient = l.LimitedClient()
		options.Cache = o.profile(a.Mode).cacheOptions(a.Unserved)
		options.Cache.HTTPClient = &http.Client{Transport: watched}
	})
	if err != nil {
		return nil, fmt.Errorf("building a cluster: %w", err)
	}
	direct, err := client.New(l.Config(), client.Options{HTTPClient: l.Client(), Scheme: o.Scheme, Mapper: c.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating an uncached client: %w", err)
	}
	connCtx, cancel := context.WithCancel(ctx)
	s := &Connection{
		Access: a.Access, Mode: a.Mode, Paused: a.Paused, Cluster: c,
		settings: o, transport: l, watches: watched, direct: direct, cancel: cancel, ended: make(chan struct{}),
	}
	s.Engage = func(aware multicluster.Aware, name string) error {
		return engage(connCtx, engageOptions{
			aware: aware, name: multicluster.ClusterName(name), cluster: c,
			cancel: cancel, clock: o.Clock, limit: o.Timeouts.Sync,
		})
	}
	go func() {
		defer close(s.ended)
		if err := c.Start(connCtx); err != nil {
			o.Logger.Error(err, "Cache of member stopped")
		}
		cancel()
		l.Close()
	}()
	return s, nil
}

// cacheOptions returns the configured options, reduced for nodes, with a watch error
// handler that calls unserved when the API server returns 404.
func (o *Profile) cacheOptions(unserved func()) cache.Options {
	options := o.CacheOptions()
	byObject := maps.Clone(options.ByObject)
	if byObject == nil {
		byObject = map[client.Object]cache.ByObject{}
	}
	byObject[&corev1.Node{}] = cache.ByObject{Transform: preflight.Slim}
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
func (s *Connection) onNodes(ctx context.Context, call func()) error {
	informer, err := s.Cluster.GetCache().GetInformer(ctx, &corev1.Node{})
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
