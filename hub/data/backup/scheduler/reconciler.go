package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "backup-scheduler"
	// backupsByApp indexes Backups by the name of their application.
	backupsByApp = "scheduler/spec.appRef.name"
	// appsByMember indexes the applications with backups by the members that they are placed on.
	appsByMember = "scheduler/members"

	// workers is the number of applications that are processed at a time. A pass lists only what
	// concerns its application, and the cache is the only thing that two passes share.
	workers = 4

	retryFirst = time.Second
	retryLast  = 5 * time.Minute
	// startGrace is how long the verification of accounts may take after the start.
	startGrace = 10 * time.Minute
	// maxInterval bounds the time between passes, because ages grow without events.
	maxInterval = time.Hour
)

// Options configure the controller.
type Options struct {
	// HubUID is the UID of the hub's cluster. Required.
	HubUID string
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Metrics are returned by NewMetrics. Required.
	Metrics *Metrics
	// Skew returns how far the clock of a CloudAccount's provider is ahead of the hub's,
	// if known. Required.
	Skew func(account string) (ahead time.Duration, known bool)
	// SetBackups passes the backup status of an application to the controller that writes it,
	// and returns the previous one, if any. Required.
	SetBackups func(app client.ObjectKey, next aggregate.BackupSummary) (last aggregate.BackupSummary, known bool)
	// Compared reports whether a cluster has nothing of an application that the hub does not
	// know; false while the cluster is away. Copied is the server of the database of the copy there,
	// zero if there is none. Required.
	Compared func(ctx context.Context, app *v1.EcommerceApp, cluster string) (compared bool, copied v1.CopiedServer, err error)
	// SafeMode makes the scheduler observe and report, and neither create nor delete anything.
	SafeMode bool
	// Clock is the real clock by default.
	Clock clock.PassiveClock
	// Waits overrides delays, for tests. By default the constants of this package apply.
	Waits retry.Waits
}

// Reconciler creates and deletes Backups.
type Reconciler struct {
	client    client.Client
	options   Options
	conflicts retry.Conflicts
	// queue enqueues an application for its next due time if a pass failed.
	queue runtimecontroller.Queue
	// started returns the time of the first pass.
	started func() time.Time
}

// Setup adds the controller to the hub's manager, whose cache must hold Backups,
// EcommerceApps and MemberClusters.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Reconciler{client: mgr.GetClient(), options: options, started: sync.OnceValue(options.Clock.Now)}
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1.EcommerceApp{}, builder.WithPredicates(runtimecontroller.Changes(appChanged))).
		Watches(&v1.Backup{}, handler.EnqueueRequestsFromMapFunc(requestForBackup)).
		Watches(&v1.Restore{}, handler.EnqueueRequestsFromMapFunc(requestForRestore)).
		Watches(&v1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(r.requestsForMember), builder.WithPredicates(runtimecontroller.Changes(memberChanged))).
		Watches(&v1.CloudAccount{}, handler.EnqueueRequestsFromMapFunc(r.requestsForAccount), builder.WithPredicates(runtimecontroller.Changes(accountChanged))).
		WatchesRawSource(r.queue.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: runtimecontroller.NewRateLimiter[reconcile.Request](retryFirst, retryLast)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the backup scheduler: %w", err)
	}
	return nil
}

// index adds what the controller looks up to the hub's cache.
func index(ctx context.Context, cache client.FieldIndexer) error {
	if err := cache.IndexField(ctx, &v1.Backup{}, backupsByApp, func(o client.Object) []string {
		if b, ok := o.(*v1.Backup); ok {
			return []string{b.Spec.AppRef.Name}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing backups by application: %w", err)
	}
	if err := cache.IndexField(ctx, &v1.EcommerceApp{}, appsByMember, membersOf); err != nil {
		return fmt.Errorf("indexing applications by member: %w", err)
	}
	return nil
}

// membersOf returns the members that an application with backups is placed on.
func membersOf(o client.Object) []string {
	app, ok := o.(*v1.EcommerceApp)
	if !ok || !enabled(app) {
		return nil
	}
	names := make([]string, 0, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		names = append(names, app.Status.Clusters[i].Name)
	}
	return names
}

// Reconcile runs one pass for an application.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, request)
	return r.conflicts.Retry(r.options.Waits, request, result, client.IgnoreNotFound(err))
}

func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	app := &v1.EcommerceApp{}
	switch err := r.client.Get(ctx, request.NamespacedName, app); {
	case apierrors.IsNotFound(err):
		return r.afterEnd(ctx, request.NamespacedName, nil)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting the application: %w", err)
	case app.Ending() || !enabled(app) && len(app.Status.Clusters) > 0:
		r.publishDisabled(app)
		return r.afterEnd(ctx, request.NamespacedName, app)
	case len(app.Status.Clusters) == 0: // Writing would conflict with the placement.
		return r.afterEnd(ctx, request.NamespacedName, app)
	}
	in, err := r.observe(ctx, request.NamespacedName, app)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := decide(in)
	r.options.Metrics.set(request.NamespacedName, decision)
	longest := r.options.Waits.Scaled(maxInterval)
	wait := decision.RequeueAt.Sub(in.now)
	if failed := r.act(ctx, app, in, decision); failed != nil {
		// What is known of the backups is reported all the same: they get older meanwhile.
		decision.refused(apierror.Decide(failed))
		r.publish(app, decision)
		return r.queue.AddDue(request, reconcile.Result{RequeueAfter: min(wait, longest)}, failed)
	}
	if len(decision.Clusters) == 0 && decision.Condition.Status != metav1.ConditionFalse {
		// There is nothing to report about clusters that have no backups.
		r.publishDisabled(app)
		return reconcile.Result{RequeueAfter: longest}, nil
	}
	r.publish(app, decision)
	return reconcile.Result{RequeueAfter: min(max(wait, time.Second), longest)}, nil
}

// afterEnd prunes the Backups of applications that have no schedule, or are gone: then app is nil.
func (r *Reconciler) afterEnd(ctx context.Context, key client.ObjectKey, app *v1.EcommerceApp) (reconcile.Result, error) {
	r.options.Metrics.forget(key)
	backups, err := r.backupsOf(ctx, key)
	if err != nil || len(backups) == 0 {
		return reconcile.Result{}, err // Most applications without backups have never had any.
	}
	in, err := r.observe(ctx, key, app)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := Decision{}
	in.pruneEnded(&decision)
	if err := r.act(ctx, app, in, decision); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.options.Waits.Scaled(maxInterval)}, nil
}

// act carries out a Decision.
func (r *Reconciler) act(ctx context.Context, app *v1.EcommerceApp, in input, decision Decision) error {
	for _, b := range decision.Create {
		if err := r.createBackup(ctx, app, b, decision.Missed[b.Spec.ClusterRef.Name]); err != nil {
			return err
		}
	}
	for _, v := range decision.Verify {
		if err := r.client.Create(ctx, v, client.FieldOwner(v1.HubFieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the verification %q: %w", v.Name, err)
		}
	}
	for _, v := range decision.DeleteVerify {
		if err := r.client.Delete(ctx, v, client.Preconditions{UID: new(v.UID), ResourceVersion: new(v.ResourceVersion)}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the verification %q: %w", v.Name, err)
		}
	}
	for _, b := range decision.Keep {
		b = b.DeepCopy()
		if err := r.setExpired(ctx, b, false); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := r.setDeletion(ctx, b, v1.DeletionRetain); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for _, d := range decision.Delete {
		if err := r.deleteBackup(ctx, in.backup(d.Name), d.Reason); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// createBackup creates a Backup. An existing Backup of that name is the same one.
func (r *Reconciler) createBackup(ctx context.Context, app *v1.EcommerceApp, b *v1.Backup, missed int) error {
	err := r.client.Create(ctx, b, client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating backup %q: %w", b.Name, err)
	}
	r.options.Recorder.Eventf(app, b, corev1.EventTypeNormal, "BackupStarted", "BackUp", "Backing up %s as %s", b.Spec.ClusterRef.Name, b.Name)
	if missed > 0 {
		r.options.Recorder.Eventf(app, b, corev1.EventTypeWarning, "BackupsMissed", "BackUp", "%d scheduled backups were missed in %s; %s replaces them",
			missed, b.Spec.ClusterRef.Name, b.Name)
	}
	return nil
}

// deleteBackup deletes a Backup together with its data, unless it was changed. If it fails
// between the two writes, the next pass deletes the Backup or removes the mark.
func (r *Reconciler) deleteBackup(ctx context.Context, b *v1.Backup, why string) error {
	if b == nil || !b.DeletionTimestamp.IsZero() {
		return nil
	}
	b = b.DeepCopy()
	if err := r.setExpired(ctx, b, true); err != nil {
		return err
	}
	if b.Spec.Deletion != v1.DeletionDelete {
		if err := r.setDeletion(ctx, b, v1.DeletionDelete); err != nil {
			return err
		}
	}
	same := client.Preconditions{UID: new(b.UID), ResourceVersion: new(b.ResourceVersion)}
	if err := r.client.Delete(ctx, b, same); err != nil {
		return fmt.Errorf("deleting backup %q: %w", b.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleted expired backup", "backup", b.Name, "reason", why)
	return nil
}

// setExpired records what retention decides about a Backup whose data has a lock, unless the Backup was changed. A user who may
// write to Backups, but not to their statuses, cannot.
func (r *Reconciler) setExpired(ctx context.Context, b *v1.Backup, expired bool) error {
	if b.Status.Expired == expired || expired && b.Status.DeleteLockDays == 0 {
		return nil
	}
	before := b.DeepCopy()
	b.Status.Expired = expired
	if err := r.client.Status().Patch(ctx, b, retry.MergeFromLocked(before), client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("recording whether backup %q has expired: %w", b.Name, err)
	}
	return nil
}

// setDeletion sets the deletion policy of a Backup, unless the Backup was changed.
func (r *Reconciler) setDeletion(ctx context.Context, b *v1.Backup, deletion v1.DeletionPolicy) error {
	before := b.DeepCopy()
	b.Spec.Deletion = deletion
	if deletion == v1.DeletionDelete {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1.PrunedAnnotation, "true")
	} else {
		delete(b.Annotations, v1.PrunedAnnotation)
	}
	lock := retry.MergeFromLocked(before)
	if err := r.client.Patch(ctx, b, lock, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("setting spec.deletion of backup %q to %s: %w", b.Name, deletion, err)
	}
	return nil
}

// publish passes on the condition and the backups of each cluster, and records an event
// when the condition becomes False or its reason changes.
func (r *Reconciler) publish(app *v1.EcommerceApp, decision Decision) {
	c := decision.Condition
	c.ObservedGeneration = app.Generation
	next := aggregate.BackupSummary{App: app.UID, Condition: &c, KeepClusters: decision.Invalid}
	if !decision.Invalid {
		next.Clusters = entries(decision.Clusters)
	}
	before := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionBackupReady)
	if last, known := r.options.SetBackups(client.ObjectKeyFromObject(app), next); known && last.App == app.UID {
		before = last.Condition
	}
	if c.Status == metav1.ConditionFalse && (before == nil || before.Status != c.Status || before.Reason != c.Reason) {
		r.options.Recorder.Eventf(app, nil, corev1.EventTypeWarning, c.Reason, "BackUp", "%s", c.Message)
	}
}

// publishDisabled reports that backups are disabled.
func (r *Reconciler) publishDisabled(app *v1.EcommerceApp) {
	r.options.SetBackups(client.ObjectKeyFromObject(app), aggregate.BackupSummary{App: app.UID})
}

func enabled(app *v1.EcommerceApp) bool {
	return app.Spec.Database != nil && app.Spec.Database.Backup.Enabled
}

// joinSorted joins messages in sorted order.
func joinSorted(messages []string) string {
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}
