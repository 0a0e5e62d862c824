package controller

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/spoke/runtime/keyedqueue"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const controllerName = "cloudaccount"

// Options configure the controller.
type Options struct {
	// Namespace is the hub's namespace, which holds the Secrets. Required.
	Namespace string
	// HubUID is the UID of the hub's cluster. Required.
	HubUID string
	// Accounts receives the accounts. Required.
	Accounts *accounts.Accounts
	// Secrets is a cache of the namespace's Secrets with the label
	// v1.CloudAccountLabel. Required.
	Secrets cache.Cache
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Logger is used by the queues. By default nothing is logged.
	Logger logr.Logger
	// Clock is the real clock by default.
	Clock clock.PassiveClock
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// Setup adds the controller to the hub's own manager.
func Setup(mgr ctrl.Manager, options Options) error {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Reconciler{client: mgr.GetClient(), options: options}
	keyed := keyedqueue.NewKeyed(keyedqueue.Options{Name: controllerName, Reconciler: r, Workers: 1, Logger: options.Logger})
	if err := mgr.Add(keyed); err != nil {
		return fmt.Errorf("adding the queues of cloud accounts: %w", err)
	}
	router := keyedqueue.Router{To: keyed, KeyOf: func(_ context.Context, request reconcile.Request) (string, error) {
		return request.Name, nil
	}}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName+"-router").
		For(&v1.CloudAccount{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Kind(options.Secrets, &corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(r.requestsForSecret))).
		Complete(router)
	if err != nil {
		return fmt.Errorf("adding the cloud account controller: %w", err)
	}
	return nil
}

// requestsForSecret returns requests for the accounts whose credentials are in a Secret.
func (r *Reconciler) requestsForSecret(ctx context.Context, secret *corev1.Secret) []reconcile.Request {
	list := &v1.CloudAccountList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing cloud accounts failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if ref := list.Items[i].Spec.Credentials.SecretRef; ref != nil && ref.Name == secret.Name {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: list.Items[i].Name}})
		}
	}
	return requests
}
