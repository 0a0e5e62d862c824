package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "membercluster"
	// appsByCluster is the index of applications by the clusters in their status. Its name
	// is unique to this controller, so that it does not collide with other indexes of the
	// field.
	appsByCluster = "member/status.clusters"

	retryFirst = time.Second
	retryMax   = 5 * time.Minute
)

// Options configure the controller.
type Options struct {
	// Namespace is the hub's namespace, which holds the registration Secrets. Required.
	Namespace string
	// Fleet connects the members. Required.
	Fleet *members.Fleet
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Orphans counts copies without an application. By default it is engaged with no member.
	Orphans *Orphans
	// Clock is the real clock by default.
	Clock clock.Clock
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// Setup adds the controller to the hub's manager, whose cache must hold MemberClusters,
// EcommerceApps, and the Secrets of the namespace with the label v1.MemberClusterLabel.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	r := &Reconciler{
		client:    mgr.GetClient(),
		direct:    mgr.GetAPIReader(),
		fleet:     options.Fleet,
		namespace: options.Namespace,
		clock:     options.Clock,
		recorder:  options.Recorder,
		orphans:   options.Orphans,
		waits:     options.Waits,
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	if r.orphans == nil {
		r.orphans = NewOrphans()
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.EcommerceApp{}, appsByCluster, clustersOf); err != nil {
		return fmt.Errorf("indexing applications by cluster: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1.MemberCluster{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.requestsForSecret),
			builder.WithPredicates(registration(options.Namespace))).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(requestsForResidue)).
		Watches(&v1.EcommerceApp{}, placementChanges(r.orphans)).
		WatchesRawSource(r.orphans.wake.Source()).
		WatchesRawSource(members.Source(options.Fleet, requestsForMember)).
		WithOptions(controller.Options{RateLimiter: runtimecontroller.NewRateLimiter[reconcile.Request](retryFirst, retryMax)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the member cluster controller: %w", err)
	}
	return nil
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

func requestsForMember(_ context.Context, name string) []reconcile.Request {
	return []reconcile.Request{requestFor(name)}
}

// requestsForSecret returns requests for the MemberCluster of the Secret's name, and for
// those whose spec names the Secret.
func (r *Reconciler) requestsForSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	names := sets.New(secret.GetName())
	list := &v1.MemberClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing member clusters failed")
	}
	for i := range list.Items {
		if secretName(&list.Items[i]) == secret.GetName() {
			names.Insert(list.Items[i].Name)
		}
	}
	return requests(names)
}

func requests(names sets.Set[string]) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(names))
	for _, name := range sets.List(names) {
		all = append(all, requestFor(name))
	}
	return all
}

// registration returns a predicate for Secrets of the namespace that have the label, or
// had it before the update.
func registration(namespace string) predicate.Predicate {
	carries := func(object client.Object) bool {
		_, ok := object.GetLabels()[v1.MemberClusterLabel]
		return ok && object.GetNamespace() == namespace
	}
	funcs := predicate.NewPredicateFuncs(carries)
	funcs.UpdateFunc = func(e event.UpdateEvent) bool { return carries(e.ObjectOld) || carries(e.ObjectNew) }
	return funcs
}

// clustersOf returns the clusters that an application is placed on.
func clustersOf(object client.Object) []string {
	app, ok := object.(*v1.EcommerceApp)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		names = append(names, app.Status.Clusters[i].Name)
	}
	return names
}

// waiting represents a copy or a deletion that waits for the user in a cluster.
type waiting struct{ cluster, origin string }

// waitingOf returns what waits for the user in the clusters of an application.
func waitingOf(object client.Object) sets.Set[waiting] {
	found := sets.New[waiting]()
	if app, ok := object.(*v1.EcommerceApp); ok {
		for i := range app.Status.Clusters {
			if c := &app.Status.Clusters[i]; c.UnknownOrigin != "" {
				found.Insert(waiting{cluster: c.Name, origin: c.UnknownOrigin})
			}
		}
	}
	return found
}

// placementChanges enqueues the MemberClusters that an application was added to or
// removed from, and those where a copy begins or ends to wait for the user. When an
// application is deleted, members that still hold copies of it are enqueued too.
func placementChanges(orphans *Orphans) handler.EventHandler {
	add := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request], names sets.Set[string]) {
		for _, request := range requests(names) {
			queue.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(q, sets.New(clustersOf(e.Object)...))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, after := sets.New(clustersOf(e.ObjectOld)...), sets.New(clustersOf(e.ObjectNew)...)
			waited, wait := waitingOf(e.ObjectOld), waitingOf(e.ObjectNew)
			for changed := range waited.SymmetricDifference(wait) {
				before.Delete(changed.cluster)
				after.Insert(changed.cluster)
			}
			add(q, before.SymmetricDifference(after))
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(q, sets.New(clustersOf(e.Object)...).Insert(orphans.holders(ctx, e.Object)...))
		},
	}
}
