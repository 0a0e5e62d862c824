package connection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
	"github.com/shopfleet/shopfleet/hub/members/transport"
)

// Session is one connection with its informers, from the attempt that made it to its
// end.
type Connection struct {
	// Access is what the connection was made from.
	Access *kubeconfig.Access
	// Mode is the one that it was made for.
	Mode v1.Mode
	// Cluster is what reconcilers work with.
	Cluster cluster.Cluster
	// Engage has reconcilers work on the cluster, under the member's name, until the
	// session ends. It takes at most Timeouts.Sync.
	Engage func(aware multicluster.Aware, name string) error

	settings *Settings
	link     *transport.Transport
	direct   client.Client // uncached
	cancel   context.CancelFunc
	ended    chan struct{}
}

// Close ends the session, without waiting for it.
func (s *Connection) Close() { s.cancel() }

// Ended is closed when the informers have stopped and the connections are closed. That
// also happens when the cluster's cache ends by itself.
func (s *Connection) Ended() <-chan struct{} { return s.ended }

// Probe asks the cluster for its identity; see transport.Probe.
func (s *Connection) Probe(ctx context.Context) (string, error) { return s.link.Probe(ctx) }

// Explain says what the error of a probe means at that time.
func (s *Connection) Explain(err error, now time.Time) *conditions.Failure {
	return explainProbe(s.Access, now, err)
}

// Inspect asks what the cluster allows and offers, and what became of the
// definitions: those that differ are brought up to date, those that are absent are
// told. In mode Agent they are compared alone. It takes at most Timeouts.Review and Timeouts.Prepare together.
func (s *Connection) Inspect(ctx context.Context) (*Inspection, error) {
	found, err := s.settings.inspect(ctx, s.link, s.Mode)
	if err != nil || found.Blocked() {
		return found, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeouts.Prepare)
	defer cancel()
	if s.Mode == v1.ModeAgent {
		found.Definitions, err = s.settings.Agent.Prepare.Verify(ctx, s.direct)
	} else {
		found.Definitions, err = s.settings.Agentless.Prepare.Check(ctx, s.direct)
	}
	if apierrors.IsForbidden(err) && len(found.Missing) > 0 {
		return found, nil // What is missing says it better.
	}
	return found, err
}

// Sign reads the agent's Lease.
func (s *Connection) SampleLease(ctx context.Context) (conditions.LeaseSample, error) {
	return s.settings.sampleLease(ctx, s.link)
}

// sign reads the Lease of a cluster's agent.
func (o *Settings) sampleLease(ctx context.Context, l *transport.Transport) (conditions.LeaseSample, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeouts.Probe)
	defer cancel()
	leases, err := coordinationv1client.NewForConfigAndClient(l.Config(), l.Client())
	if err != nil {
		return conditions.LeaseSample{}, fmt.Errorf("making a client for leases: %w", err)
	}
	lease, err := leases.Leases(o.Lease.Namespace).Get(ctx, o.Lease.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return conditions.LeaseSample{}, nil
	}
	if err != nil {
		return conditions.LeaseSample{}, fmt.Errorf("reading the agent's lease: %w", err)
	}
	sign := conditions.LeaseSample{Present: true}
	if lease.Spec.HolderIdentity != nil {
		sign.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		sign.Renewed = lease.Spec.RenewTime.UnixMicro()
	}
	return sign, nil
}

// Nodes sums up the nodes in the cache, without asking the network.
func (s *Connection) Nodes(ctx context.Context) (preflight.NodeFacts, error) {
	list := &corev1.NodeList{}
	if err := s.Cluster.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return preflight.NodeFacts{}, fmt.Errorf("listing nodes: %w", err)
	}
	return preflight.Nodes(list.Items), nil
}

// open builds a cluster on the link and starts its cache, which is still empty. The
// context is the member's; the session ends with it.
func (o *Settings) open(ctx context.Context, a *Attempt, l *transport.Transport) (*Connection, error) {
	c, err := cluster.New(l.Config(), func(options *cluster.Options) {
		options.Scheme = o.Scheme
		options.Logger = o.Logger
		options.HTTPClient = l.Client()
		options.Cache = o.profile(a.Mode).cacheOptions(a.Unserved)
	})
	if err != nil {
		return nil, fmt.Errorf("building a cluster: %w", err)
	}
	direct, err := client.New(l.Config(), client.Options{HTTPClient: l.Client(), Scheme: o.Scheme, Mapper: c.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making an uncached client: %w", err)
	}
	life, cancel := context.WithCancel(ctx)
	s := &Connection{Access: a.Access, Mode: a.Mode, Cluster: c, settings: o, link: l, direct: direct, cancel: cancel, ended: make(chan struct{})}
	s.Engage = func(aware multicluster.Aware, name string) error {
		return engage(life, engagement{
			aware: aware, name: multicluster.ClusterName(name), cluster: c,
			cancel: cancel, clock: o.Clock, limit: o.Timeouts.Sync,
		})
	}
	go func() {
		defer close(s.ended)
		if err := c.Start(life); err != nil {
			o.Logger.Error(err, "Cluster of a member ended")
		}
		cancel()
		l.Close()
	}()
	return s, nil
}

// cacheOptions are those that were given, with only what is needed of nodes. They
// tell when an informer hears that its kind is not served.
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

type engagement struct {
	aware   multicluster.Aware
	name    multicluster.ClusterName
	cluster cluster.Cluster
	cancel  context.CancelFunc
	clock   clock.Clock
	limit   time.Duration
}

var errEngageLate = errors.New("reconcilers were not engaged in time")

// engage gives the cluster to the reconcilers. They should not wait, and if they do
// it is for an informer, which the end of the context releases.
func engage(life context.Context, e engagement) error {
	engaged := make(chan error, 1)
	go func() { engaged <- e.aware.Engage(life, e.name, e.cluster) }()
	timer := e.clock.NewTimer(e.limit)
	defer timer.Stop()
	select {
	case err := <-engaged:
		if err != nil {
			return fmt.Errorf("engaging reconcilers: %w", err)
		}
		return nil
	case <-timer.C():
		e.cancel()
		return errEngageLate
	case <-life.Done():
		return fmt.Errorf("engaging reconcilers: %w", life.Err())
	}
}

// syncError names the types whose informers have not listed in time.
type syncError struct{ kinds []string }

// Error names the types, sorted.
func (e *syncError) Error() string { return "cannot list " + strings.Join(e.kinds, ", ") }

// sync waits until the informers of everything watched, and of nodes, have listed
// once.
func (s *Connection) sync(ctx context.Context, watched []client.Object, indexes []Index) error {
	for _, i := range indexes {
		if err := s.Cluster.GetFieldIndexer().IndexField(ctx, i.Object, i.Field, i.Extract); err != nil {
			return fmt.Errorf("indexing field %q: %w", i.Field, err)
		}
	}
	watched = append([]client.Object{&corev1.Node{}}, watched...)
	synced := make([]bool, len(watched))
	var group sync.WaitGroup
	for i, object := range watched {
		group.Go(func() { synced[i] = s.await(ctx, object) })
	}
	group.Wait()
	late := map[string]struct{}{}
	for i, object := range watched {
		if !synced[i] {
			late[s.kindOf(object)] = struct{}{}
		}
	}
	if len(late) > 0 {
		return &syncError{kinds: slices.Sorted(maps.Keys(late))}
	}
	return nil
}

// await starts the informer of a type and waits for its first list.
func (s *Connection) await(ctx context.Context, object client.Object) bool {
	informer, err := s.Cluster.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
	return err == nil && toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
}

func (s *Connection) kindOf(object client.Object) string {
	kind, err := apiutil.GVKForObject(object, s.Cluster.GetScheme())
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return kind.Kind
}

// onNodes calls a function whenever a node changed. The function must not wait.
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
