package rediscover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/keyedqueue"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	controllerName = "rediscover"
	// continueDelay is when to process the dumps that exceeded the limit of one pass.
	continueDelay = 5 * time.Second
	// passTimeout bounds one pass.
	passTimeout = 10 * time.Minute
	// maxSnapshots bounds the number of snapshots per region.
	maxSnapshots = 100_000
)

// Options configure the controller.
type Options struct {
	// HubUID is the UID of the hub's cluster. Required.
	HubUID string
	// Accounts provides sessions and buckets. Required.
	Accounts *accounts.Accounts
	// Recorder records events. Required.
	Recorder events.EventRecorder
	// Logger is used by the queues. By default nothing is logged.
	Logger logr.Logger
	// Clock is the real clock by default.
	Clock clock.Clock
	// Waits changes how long the controller waits; the default leaves it as it is.
	Waits retry.Waits
}

// Reconciler handles requests for rediscovery.
type Reconciler struct {
	client    client.Client
	options   Options
	conflicts retry.Conflicts
}

// Setup adds the controller to the hub's own manager.
func Setup(mgr ctrl.Manager, options Options) error {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Reconciler{client: mgr.GetClient(), options: options}
	keyed := keyedqueue.NewKeyed(keyedqueue.Options{Name: controllerName, Reconciler: r, Workers: 1, Logger: options.Logger})
	if err := mgr.Add(keyed); err != nil {
		return fmt.Errorf("adding the queues of rediscovery: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(controllerName + "-router").
		For(&v1.CloudAccount{}).
		Complete(keyedqueue.Router{To: keyed, KeyOf: func(_ context.Context, request reconcile.Request) (string, error) {
			return request.Name, nil
		}})
	if err != nil {
		return fmt.Errorf("adding the rediscovery controller: %w", err)
	}
	return nil
}

// Reconcile handles the annotation of an account, unless it was handled already.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	account := &v1.CloudAccount{}
	if err := r.client.Get(ctx, request.NamespacedName, account); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	requested := account.Annotations[v1.RediscoverAtAnnotation]
	if requested == "" || requested == account.Status.LastHandledRediscoverAt {
		return reconcile.Result{}, nil
	}
	f, result, err := r.list(ctx, account)
	if err != nil {
		return reconcile.Result{}, err
	}
	summary := result.Message
	if !result.Stops() {
		var made int
		if summary, made, err = r.createBackups(ctx, f); err != nil {
			return reconcile.Result{}, err
		}
		if f.more > 0 && made > 0 {
			return r.options.Waits.Later(continueDelay), nil // The created ones are skipped then.
		}
	}
	if wait := f.wait(); wait > 0 {
		err := r.recordResult(ctx, account, account.Status.LastHandledRediscoverAt, summary)
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return reconcile.Result{}, err
		}
		return r.options.Waits.Later(wait), nil
	}
	err = client.IgnoreNotFound(r.recordResult(ctx, account, requested, summary))
	return r.conflicts.Retry(r.options.Waits, request, reconcile.Result{}, err)
}

// list lists the hub's snapshots in all regions of the account, and the dumps in its bucket. What does
// not answer is noted, and does not delay the rest.
func (r *Reconciler) list(ctx context.Context, account *v1.CloudAccount) (found, steps.Result, error) {
	f := found{account: account, now: r.options.Clock.Now()}
	owner := cloud.Owner{Hub: r.options.HubUID}
	if other := account.Annotations[v1.RediscoverHubAnnotation]; other != "" && other != owner.Hub {
		owner.Hub = other
	}
	regions, err := r.regions(ctx, account)
	if err != nil {
		return f, steps.Result{}, err
	}
	if len(regions) == 0 && account.Spec.ObjectStorage == nil {
		return f, steps.Fail(v1.ReasonProviderUnknown, "no region is known: set spec.regions, or register a member that references this account"), nil
	}
	r.listSnapshots(ctx, &f, owner, regions)
	result, err := r.listDumps(ctx, &f, owner)
	if err != nil {
		return f, steps.Result{}, err
	}
	if result.Stops() {
		f.dumps, f.known, f.unread, f.more = nil, 0, 0, 0 // The newest of each name is not known.
		f.unlisted = append(f.unlisted, result)
	}
	if owner.Hub != r.options.HubUID && account.Annotations[v1.TakeOverHubAnnotation] == owner.Hub {
		if result := r.takeOver(ctx, account.Name, owner.Hub); result.Stops() {
			f.unlisted = append(f.unlisted, result)
		}
	}
	return f, steps.Result{}, nil
}

// takeOver claims the backups of a former hub in the account's bucket.
func (r *Reconciler) takeOver(ctx context.Context, account, hub string) steps.Result {
	bucket, err := r.options.Accounts.Bucket(ctx, account)
	if e, of := errors.AsType[*cloud.Error](err); of && e.Code == accounts.CodeNoBucket {
		return steps.Fail(v1.ReasonAccountNotReady, "the backups are not taken over, since the CloudAccount has no bucket to claim them in")
	}
	if err != nil {
		return steps.FromError(err, "connecting to the bucket")
	}
	if err := dumps.Claim(ctx, bucket, hub, r.options.HubUID); err != nil {
		return steps.FromError(err, "taking over the backups")
	}
	return steps.Result{}
}

// regions returns the regions to list: the regions of the spec, otherwise the regions of members
// and of copies that applications request.
func (r *Reconciler) regions(ctx context.Context, account *v1.CloudAccount) ([]string, error) {
	if len(account.Spec.Regions) > 0 {
		return slices.Sorted(slices.Values(account.Spec.Regions)), nil
	}
	found := map[string]bool{}
	members := &v1.MemberClusterList{}
	if err := r.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing member clusters: %w", err)
	}
	for i := range members.Items {
		m := &members.Items[i]
		// A cluster of another provider uses only the bucket of the account.
		here := m.Status.Provider == "" || m.Status.Provider == account.Spec.Provider
		if here && m.Spec.CloudAccountRef != nil && m.Spec.CloudAccountRef.Name == account.Name && m.Status.Region != "" {
			found[m.Status.Region] = true
		}
	}
	apps := &v1.EcommerceAppList{}
	if err := r.client.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing applications: %w", err)
	}
	if len(found) > 0 && account.Spec.Provider != v1.ProviderGCP {
		for i := range apps.Items {
			if db := apps.Items[i].Spec.Database; db != nil {
				for _, region := range db.Backup.CopyToRegions {
					found[region] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// counts holds of how many Backups and snapshots of one pass what became.
type counts struct {
	made, known, completed, incomplete, withoutNamespace, left int
}

// createBackups creates the missing Backups, and returns a summary for the status.
func (r *Reconciler) createBackups(ctx context.Context, f found) (summary string, made int, err error) {
	backups, left := assemble(f)
	n := counts{known: f.known, left: left}
	if len(f.unlisted) > 0 { // The rest of them may be where nothing could be listed.
		all := len(backups)
		backups = slices.DeleteFunc(backups, func(b v1.Backup) bool { return b.Status.Phase == v1.BackupFailed })
		n.incomplete = all - len(backups)
	}
	backups = append(backups, f.dumps...)
	for i := range backups {
		if err := r.count(ctx, &backups[i], &n); err != nil {
			return "", n.made, err
		}
	}
	return n.summary(f), n.made, nil
}

// count creates a Backup, or completes it, and counts it.
func (r *Reconciler) count(ctx context.Context, b *v1.Backup, n *counts) error {
	wanted := b.Status
	switch err := r.createOne(ctx, b); {
	case err == nil:
		n.made++
	case apierrors.IsAlreadyExists(err):
		n.known++
		added, err := r.complete(ctx, b, wanted)
		if added {
			n.completed++
		}
		return err
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		n.withoutNamespace++ // The namespace does not exist or is terminating.
	case apierrors.IsInvalid(err):
		n.left++ // The tags are invalid.
	default:
		return fmt.Errorf("creating backup %q: %w", b.Name, err)
	}
	return nil
}

// summary returns what is said of a pass.
func (c counts) summary(f found) string {
	words := []string{fmt.Sprintf("%d backups rediscovered, %d already known", c.made, c.known)}
	for _, more := range []struct {
		count  int
		format string
	}{
		{c.completed, "%d of these got more copies"},
		{c.incomplete, "%d incomplete ones are left out"},
		{c.withoutNamespace, "%d in namespaces that do not exist"},
		{c.left, "%d snapshots lack tags"},
		{f.unread, "%d dump manifests are unreadable"},
		{f.more, "%d more dumps were not processed"},
	} {
		if more.count > 0 {
			words = append(words, fmt.Sprintf(more.format, more.count))
		}
	}
	parts := make([]string, 0, 1+len(f.unlisted))
	parts = append(parts, strings.Join(words, ", "))
	for _, result := range f.unlisted {
		parts = append(parts, result.Message)
	}
	return v1.Excerpt(strings.Join(parts, "; "), steps.MaxMessage)
}

// createOne creates a Backup and then its status. A Backup that has no status yet,
// because the hub stopped in between, gets it now.
func (r *Reconciler) createOne(ctx context.Context, b *v1.Backup) error {
	wanted := b.Status
	err := r.client.Create(ctx, b, client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsAlreadyExists(err) {
		live := &v1.Backup{}
		if get := r.client.Get(ctx, client.ObjectKeyFromObject(b), live); get != nil {
			return err
		}
		half := live.Annotations[v1.RediscoveredAnnotation] != "" && live.Status.AppUID == ""
		if !half {
			return err
		}
		*b = *live
	} else if err != nil {
		return err
	}
	before := b.DeepCopy()
	b.Status = wanted
	b.Status.ObservedGeneration = b.Generation
	return r.client.Status().Patch(ctx, b, retry.MergeFromLocked(before))
}

func (r *Reconciler) recordResult(ctx context.Context, account *v1.CloudAccount, requested, summary string) error {
	if account.Status.LastHandledRediscoverAt == requested && account.Status.Rediscovered == summary {
		return nil
	}
	before := account.DeepCopy()
	account.Status.LastHandledRediscoverAt, account.Status.Rediscovered = requested, summary
	lock := retry.MergeFromLocked(before)
	if err := r.client.Status().Patch(ctx, account, lock); err != nil {
		return fmt.Errorf("handling annotation %s: %w", v1.RediscoverAtAnnotation, err)
	}
	r.options.Recorder.Eventf(account, nil, corev1.EventTypeNormal, "Rediscovered", "Rediscover", "%s", summary)
	return nil
}
