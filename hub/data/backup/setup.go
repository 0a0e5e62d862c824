package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/keyedqueue"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "backup"
	auditName      = "backup-audit"
	// activeByMember indexes the Backups that are under way by their member.
	activeByMember = "active-by-member"
)

// Member returns the cluster of a connected member.
type Member func(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)

// Exec runs a command in a container of a member.
type Exec func(ctx context.Context, member cluster.Cluster, target podexec.Container, command podexec.Command) (string, error)

// Options configure the controller.
type Options struct {
	// HubUID is the UID of the hub's cluster, the owner of the snapshots. Required.
	HubUID string
	// Accounts has the sessions in the clouds. Required.
	Accounts *accounts.Accounts
	// Member finds the members, and Members reports their changes. Required.
	Member  Member
	Members members.Changes
	// Revisions says what members have of applications. Required for those with a rollout.
	Revisions *revisions.Store
	// Exec runs commands in databases. The default is podexec.Run.
	Exec Exec
	// SafeMode makes Backups wait: none is begun, goes on to another write, or deletes its data.
	SafeMode bool
	// SpokeImage is the image that sends dumps to buckets; empty sends none.
	SpokeImage string
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Logger receives the log messages of the queues. The default discards.
	Logger logr.Logger
	// Clock defaults to the real clock.
	Clock clock.Clock
	// Skew returns how far the clock of a CloudAccount's provider is ahead of the hub's, and whether that is known. The
	// default is that of Accounts.
	Skew func(account string) (ahead time.Duration, known bool)
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// NewReconciler returns a reconciler that works with a client of the hub.
func NewReconciler(c client.Client, options Options) *Reconciler {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Exec == nil {
		options.Exec = podexec.Run
	}
	if options.Skew == nil {
		options.Skew = options.Accounts.Skew
	}
	return &Reconciler{client: c, options: options}
}

// Setup adds the controller to the hub's own manager, whose cache holds Backups,
// Restores, EcommerceApps, MemberClusters and CloudAccounts.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	r := NewReconciler(mgr.GetClient(), options)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Backup{}, activeByMember, activeIn); err != nil {
		return fmt.Errorf("indexing backups: %w", err)
	}
	keyed := keyedqueue.NewKeyed(keyedqueue.Options{Name: controllerName, Reconciler: r, Logger: options.Logger})
	if err := mgr.Add(keyed); err != nil {
		return fmt.Errorf("adding the queues of backups: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName+"-router").
		// What we write ourselves is no cause to look again before it is time.
		For(&v1.Backup{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.NewPredicateFuncs(lacksFinalizer)))).
		WatchesRawSource(members.Source(options.Members, r.activeRequests)).
		Complete(keyedqueue.Router{To: keyed, KeyOf: r.clusterOf})
	if err != nil {
		return fmt.Errorf("adding the controller of backups: %w", err)
	}
	return setupAudit(ctx, mgr, r)
}

// setupAudit adds the audit of completed Backups, with a queue for each account. Clouds have no watch: it
// begins when an account changes, and runs at a period from then on.
func setupAudit(ctx context.Context, mgr ctrl.Manager, r *Reconciler) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1.Backup{}, backupsByAccount, accountOf); err != nil {
		return fmt.Errorf("indexing backups by account: %w", err)
	}
	keyed := keyedqueue.NewKeyed(keyedqueue.Options{Name: auditName, Reconciler: &auditor{Reconciler: r}, Workers: 1, Logger: r.options.Logger})
	if err := mgr.Add(keyed); err != nil {
		return fmt.Errorf("adding the queues of the audit: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(auditName+"-router").
		For(&v1.CloudAccount{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(keyedqueue.Router{To: keyed, KeyOf: func(_ context.Context, request reconcile.Request) (string, error) {
			return request.Name, nil
		}})
	if err != nil {
		return fmt.Errorf("adding the audit of backups: %w", err)
	}
	return nil
}

// lacksFinalizer reports whether a Backup is new, or a user removed its finalizer.
func lacksFinalizer(o client.Object) bool {
	return !controllerutil.ContainsFinalizer(o, v1.BackupFinalizer)
}

// activeIn returns the member of a Backup that is under way or being deleted.
func activeIn(o client.Object) []string {
	b, ok := o.(*v1.Backup)
	if !ok || Done(b) && b.DeletionTimestamp.IsZero() {
		return nil
	}
	return []string{b.Spec.ClusterRef.Name}
}

// activeRequests returns requests for the Backups that may wait for a member.
func (r *Reconciler) activeRequests(ctx context.Context, member string) []reconcile.Request {
	list := &v1.BackupList{}
	if err := r.client.List(ctx, list, client.MatchingFields{activeByMember: member}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing backups failed")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// clusterOf returns the member of a Backup.
func (r *Reconciler) clusterOf(ctx context.Context, request reconcile.Request) (string, error) {
	backup := &v1.Backup{}
	if err := r.client.Get(ctx, request.NamespacedName, backup, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("getting the backup: %w", err)
	}
	return members.QueueKey(ctx, r.client, backup.Spec.ClusterRef.Name)
}
