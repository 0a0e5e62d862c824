package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// Deadlines of looking for optional kinds.
const (
	// unknownLimit is how long the reconcilers wait until the CRDs and the optional kinds
	// among them are listed. After it they start with what is known: a permission that is
	// missing must not stop a cluster.
	unknownLimit = 5 * time.Minute
	// optionalSync is how long one attempt waits for the list of an optional kind. A list that takes
	// longer goes on, and the kind is unknown until an attempt finds it complete.
	optionalSync = 10 * time.Second
	// optionalRetry is when a kind that is defined but is not listed, or is not served, is
	// tried again, soonRetry when its definition is new, or when the reconcilers wait for it.
	optionalRetry = 30 * time.Second
	soonRetry     = time.Second
	// servedWithin is how long after its definition a kind that is not served yet is unknown. A
	// definition that is older has other versions.
	servedWithin = time.Minute
)

// optionalKind is a kind of objects that a cluster need not have.
type optionalKind struct {
	crd string
	gvk schema.GroupVersionKind
	// mark marks a cluster that serves the kind; nil if it isReadOnly.
	mark func(*render.Cluster)
	// unknown marks a cluster that may serve the kind. It is nil if objects of the kind are only
	// left out then, and what there is stays.
	unknown func(*render.Cluster)
	// partial means that the cache has the metadata only: no decision reads the content, which is large.
	partial bool
}

// isReadOnly reports whether objects of the kind are others', which are read by name, and no children.
func (k optionalKind) isReadOnly() bool { return k.mark == nil }

func optionalKinds() []optionalKind {
	monitoring := schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
	return []optionalKind{
		{"servicemonitors.monitoring.coreos.com", monitoring.WithKind("ServiceMonitor"), func(c *render.Cluster) { c.ServiceMonitors = true }, nil, false},
		{"prometheusrules.monitoring.coreos.com", monitoring.WithKind("PrometheusRule"), func(c *render.Cluster) { c.PrometheusRules = true }, nil, true},
		{"certificates.cert-manager.io", schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
			func(c *render.Cluster) { c.Certificates = true }, func(c *render.Cluster) { c.CertificatesUnknown = true }, false},
		{"httproutes." + component.GatewayAPI().Group, routeKind(),
			func(c *render.Cluster) { c.HTTPRoutes = true }, func(c *render.Cluster) { c.HTTPRoutesUnknown = true }, false},
		{"gateways." + component.GatewayAPI().Group, gatewayKind(), nil, nil, false},
	}
}

// allKinds returns the names of the CRDs of all optional kinds.
func allKinds() map[string]bool {
	all := make(map[string]bool)
	for _, kind := range optionalKinds() {
		all[kind.crd] = true
	}
	return all
}

// optional follows which CRDs a cluster has, and caches the objects of the
// optional kinds among them.
type optional struct {
	cache cache.Cache
	// gateways has the kinds whose objects are read, and no children.
	gateways cache.Cache
	mapper   meta.RESTMapper
	options  Options
	log      logr.Logger
	// informed are the kinds whose informer runs and calls the event handler, in sync or not. Only
	// run uses it.
	informed map[string]bool

	mu sync.Mutex
	// synced are the kinds whose objects are cached, unknown those that the cluster may serve,
	// and whose objects could not be listed.
	synced, unknown map[string]bool
	// discovered is closed once all kinds are known, or unknownLimit is over. changed is closed
	// at each discovery, and replaced.
	discovered, changed chan struct{}
	subscribers         map[int]func(client.Object)
	next                int
}

// newOptional makes the caches of optional kinds, which do not run yet.
func newOptional(cl cluster.Cluster, o Options) (*optional, error) {
	options := cache.Options{
		NewInformer:          NewInformer,
		HTTPClient:           cl.GetHTTPClient(),
		Scheme:               cl.GetScheme(),
		Mapper:               cl.GetRESTMapper(),
		DefaultLabelSelector: ours(),
		DefaultTransform:     newSlimmer().child,
		ByObject:             map[client.Object]cache.ByObject{definitions(): {Label: labels.Everything(), Transform: slimDefinition}},
		// A reader must not wait for a kind that has just gone: handlers of informers read caches, too.
		ReaderFailOnMissingInformer: true,
	}
	c, err := cache.New(cl.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("creating the cache of optional kinds: %w", err)
	}
	// A cache cannot have options for a kind that the cluster does not serve.
	options.DefaultLabelSelector, options.DefaultTransform, options.ByObject = nil, slimGateway, nil
	gateways, err := cache.New(cl.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("creating the cache of Gateways: %w", err)
	}
	return &optional{
		cache: c, gateways: gateways, mapper: cl.GetRESTMapper(), options: o, log: o.Logger,
		informed:    make(map[string]bool),
		synced:      make(map[string]bool),
		unknown:     allKinds(),
		discovered:  make(chan struct{}),
		changed:     make(chan struct{}),
		subscribers: make(map[int]func(client.Object)),
	}, nil
}

// run follows the cluster's CRDs until the context ends.
func (o *optional) run(ctx context.Context) {
	changes := make(chan struct{}, 1)
	wake := func(any) {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	for _, c := range []cache.Cache{o.cache, o.gateways} {
		go func() {
			if err := c.Start(ctx); err != nil {
				o.log.Error(err, "The cache of optional kinds ended")
			}
		}()
	}
	limit := o.options.Clock.After(o.options.Waits.Scaled(unknownLimit))
	listed, err := o.followDefinitions(ctx, wake)
	if err != nil {
		o.log.Error(err, "Cannot watch CustomResourceDefinitions, so optional kinds are not used")
		o.settle(nil, allKinds(), true)
		return
	}
	for {
		var again <-chan time.Time
		if listed() {
			if retry := o.update(ctx); retry > 0 {
				again = o.options.Clock.After(retry)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-again:
		case <-limit:
			o.giveUp()
		}
	}
}

// giveUp lets the reconcilers start with the kinds that are known.
func (o *optional) giveUp() {
	o.mu.Lock()
	known, unknown := maps.Clone(o.synced), maps.Clone(o.unknown)
	waiting := !isClosed(o.discovered)
	o.mu.Unlock()
	if waiting {
		o.log.Info("Starting without the optional kinds that could not be listed", "waited", unknownLimit.String())
		o.settle(known, unknown, true)
	}
}

// waitFor waits until an informer is in sync, for at most a time.
func waitFor(ctx context.Context, informer cache.Informer, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("listing: %w", context.Cause(ctx))
	}
	return nil
}

// update compares the cluster's CRDs, which must be listed, with the caches. It returns
// when to do so again although nothing changes; 0 means not at all.
func (o *optional) update(ctx context.Context) (retry time.Duration) {
	defined, err := o.defined(ctx)
	if err != nil {
		o.log.Error(err, "Cannot read the list of CustomResourceDefinitions")
		return o.options.Waits.Scaled(soonRetry)
	}
	now, unknown := make(map[string]bool), make(map[string]bool)
	for _, kind := range optionalKinds() {
		at, isDefined := defined[kind.crd]
		switch is := o.has(kind.crd); {
		case isDefined && !is:
			if err := o.start(ctx, kind); err != nil {
				o.log.Info("Cannot use an optional kind yet", "kind", kind.gvk.Kind, "error", err.Error())
				wait, isUnknown := o.notStarted(err, at)
				if isUnknown {
					unknown[kind.crd] = true
				}
				if retry == 0 || wait < retry {
					retry = wait
				}
				continue
			}
			now[kind.crd] = true
		case !isDefined && o.informed[kind.crd]:
			o.stop(ctx, kind)
		case is:
			now[kind.crd] = true
		}
	}
	o.settle(now, unknown, len(unknown) == 0)
	return retry
}

// notStarted returns when to try again to cache a kind that was defined at a time, and whether
// it is unknown until then if the cluster has it. A kind that is not served long after it was
// defined is absent: the cluster has another version of it.
func (o *optional) notStarted(err error, definedAt time.Time) (retry time.Duration, isUnknown bool) {
	unserved := meta.IsNoMatchError(err)
	isNew := unserved && o.options.Clock.Since(definedAt) < servedWithin
	retry = optionalRetry
	if isNew || !isClosed(o.discovered) {
		retry = soonRetry
	}
	return o.options.Waits.Scaled(retry), !unserved || isNew
}

// start caches the objects of an optional kind. It returns an error if they are not listed within
// optionalSync: the informer goes on, since a list that takes longer would never end if each attempt
// began it anew, and the next attempt waits for it.
func (o *optional) start(ctx context.Context, kind optionalKind) error {
	if _, err := o.mapper.RESTMapping(kind.gvk.GroupKind(), kind.gvk.Version); err != nil {
		if meta.IsNoMatchError(err) {
			o.stop(ctx, kind)
		}
		return err
	}
	informer, err := o.cacheOf(kind).GetInformer(ctx, kind.sample(), cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if !o.informed[kind.crd] {
		if _, err := informer.AddEventHandler(o.handler(ctx, kind)); err != nil {
			return err
		}
		o.informed[kind.crd] = true
	}
	return waitFor(ctx, informer, o.options.Waits.Scaled(optionalSync))
}

// handler returns the event handler of an optional kind.
func (o *optional) handler(ctx context.Context, kind optionalKind) toolscache.ResourceEventHandler {
	notify := o.notify
	if kind.isReadOnly() {
		notify = func(object any) { o.notifyRoutes(ctx, object) }
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: notify,
		UpdateFunc: func(before, after any) {
			if !kind.isReadOnly() || addressesChanged(before, after) {
				notify(after)
			}
		},
		DeleteFunc: notify,
	}
}

// stop removes the informer of an optional kind, if it has one.
func (o *optional) stop(ctx context.Context, kind optionalKind) {
	delete(o.informed, kind.crd)
	if err := o.cacheOf(kind).RemoveInformer(ctx, kind.sample()); err != nil {
		o.log.Error(err, "Cannot remove an informer", "kind", kind.gvk.Kind)
	}
}

// sample returns an object of the kind, as the cache has it.
func (k optionalKind) sample() client.Object {
	if k.partial {
		return metadataOf(k.gvk)
	}
	return sample(k.gvk)
}

func sample(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

// settle stores the kinds that were found and those that are unknown, and wakes all reconcilers
// if they changed. The reconcilers start once complete is true.
func (o *optional) settle(synced, unknown map[string]bool, complete bool) {
	o.mu.Lock()
	news := !maps.Equal(o.synced, synced) || !maps.Equal(o.unknown, unknown)
	o.synced, o.unknown = synced, unknown
	if complete && !isClosed(o.discovered) {
		close(o.discovered)
	}
	close(o.changed)
	o.changed = make(chan struct{})
	o.mu.Unlock()
	if news {
		o.publish(nil)
	}
}

// notify wakes the owner of an object of an optional kind.
func (o *optional) notify(object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if resource, ok := object.(client.Object); ok {
		o.publish(resource)
	}
}

// publish calls the subscribers with an object, or with nil when anything may have changed.
func (o *optional) publish(object client.Object) {
	o.mu.Lock()
	subscribers := maps.Clone(o.subscribers)
	o.mu.Unlock()
	for _, call := range subscribers {
		call(object)
	}
}

// subscribe calls a function at each change until the context ends.
func (o *optional) subscribe(ctx context.Context, call func(client.Object)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := o.next
	o.next++
	o.subscribers[id] = call
	context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.subscribers, id)
	})
}

// news returns a channel that is closed at the next change of the CRDs.
func (o *optional) news() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

func (o *optional) has(crd string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.synced[crd]
}

// present returns the optional kinds whose objects are cached.
func (o *optional) present() []optionalKind {
	var kinds []optionalKind
	for _, kind := range optionalKinds() {
		if o.has(kind.crd) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
