package restore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/keyedqueue"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "restore"
	// active indexes the Restores by whether they are under way.
	active = "active"
)

// Member returns the cluster of a connected member.
type Member func(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)

// Options configure the controller.
type Options struct {
	// Accounts has the sessions in the clouds. Required.
	Accounts *accounts.Accounts
	// Member finds the members, and Members reports their changes. Required.
	Member  Member
	Members members.Changes
	// Revisions says what members have of applications. Required for those with a rollout.
	Revisions *revisions.Store
	// SpokeImage is the image that brings dumps from buckets. Empty: none can be.
	SpokeImage string
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Logger receives the log messages of the queues. The default discards.
	Logger logr.Logger
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// NewReconciler returns a reconciler that works with a client of the hub.
func NewReconciler(c client.Client, options Options) *Reconciler {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Reconciler{client: c, options: options, began: options.Clock.Now()}
}

// Setup adds the controller to the hub's own manager, whose cache holds Restores,
// Backups, EcommerceApps and MemberClusters.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	r := NewReconciler(mgr.GetClient(), options)
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Restore{}, active, func(o client.Object) []string {
		restore, ok := o.(*v1.Restore)
		return []string{strconv.FormatBool(ok && !done(restore))}
	})
	if err != nil {
		return fmt.Errorf("indexing restores: %w", err)
	}
	keyed := keyedqueue.NewKeyed(keyedqueue.Options{Name: controllerName, Reconciler: r, Logger: options.Logger})
	if err := mgr.Add(keyed); err != nil {
		return fmt.Errorf("adding the queues of restores: %w", err)
	}
	err = builder.ControllerManagedBy(mgr).
		Named(controllerName+"-router").
		// What we write ourselves is no cause to look again before it is time.
		For(&v1.Restore{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1.Backup{}, handler.EnqueueRequestsFromMapFunc(r.restoresOf)).
		WatchesRawSource(members.Source(options.Members, r.activeRequests)).
		Complete(keyedqueue.Router{To: keyed, KeyOf: r.clusterOf})
	if err != nil {
		return fmt.Errorf("adding the controller of restores: %w", err)
	}
	return nil
}

// restoresOf asks for the Restores that wait for a Backup.
func (r *Reconciler) restoresOf(ctx context.Context, backup client.Object) []reconcile.Request {
	list := &v1.RestoreList{}
	if err := r.client.List(ctx, list, client.InNamespace(backup.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing restores failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.BackupRef.Name == backup.GetName() && !done(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// clusterOf returns the queue of a Restore, which is the queue of its member.
func (r *Reconciler) clusterOf(ctx context.Context, request reconcile.Request) (string, error) {
	restore := &v1.Restore{}
	if err := r.client.Get(ctx, request.NamespacedName, restore, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("getting the restore: %w", err)
	}
	name, _, err := r.membersOf(ctx, restore)
	if err != nil {
		return "", err
	}
	return members.QueueKey(ctx, r.client, name)
}

// membersOf returns the names of the member of a Restore, and of the one that was backed up.
func (r *Reconciler) membersOf(ctx context.Context, restore *v1.Restore) (target, source string, err error) {
	backup := &v1.Backup{}
	key := client.ObjectKey{Namespace: restore.Namespace, Name: restore.Spec.BackupRef.Name}
	if err := r.client.Get(ctx, key, backup, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return "", "", fmt.Errorf("getting the backup: %w", err)
	}
	source = backup.Spec.ClusterRef.Name
	return cmp.Or(restore.Spec.ClusterRef.Name, source), source, nil
}

// activeRequests returns requests for the Restores that may wait for a member.
func (r *Reconciler) activeRequests(ctx context.Context, member string) []reconcile.Request {
	list := &v1.RestoreList{}
	if err := r.client.List(ctx, list, client.MatchingFields{active: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing restores failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		target, source, err := r.membersOf(ctx, &list.Items[i])
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Finding the members of a restore failed")
		}
		if member == target || member == source {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
