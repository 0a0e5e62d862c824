package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Reconciler reconciles MemberClusters with the fleet.
type Reconciler struct {
	client client.Client
	// direct reads from the API server, without a cache.
	direct    client.Reader
	fleet     *members.Fleet
	namespace string
	clock     clock.Clock
	recorder  events.EventRecorder
	orphans   *Orphans
	waits     retry.Waits
	conflicts retry.Conflicts

	pinning sync.Mutex
	pinned  bool
}

// Reconcile reconciles the MemberCluster of the name, or the Secret of that name if there
// is none.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r.conflicts.Retry(r.waits, request, reconcile.Result{}, r.reconcile(ctx, request.Name))
}

func (r *Reconciler) reconcile(ctx context.Context, name string) error {
	if err := r.pinAll(ctx); err != nil {
		return err
	}
	cluster := &v1.MemberCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return errors.Join(r.register(ctx, name), r.forgetOrphans(ctx, name))
	case err != nil:
		return fmt.Errorf("getting member cluster %q: %w", name, err)
	case !cluster.DeletionTimestamp.IsZero():
		return r.detach(ctx, cluster)
	}
	// What fails here does not keep the status from being written, unless it is read anew.
	failed := r.ensureFinalizer(ctx, cluster)
	if apierror.Classify(failed) == apierror.Conflict {
		return failed
	}
	f, err := r.observe(ctx, cluster)
	if err != nil {
		return errors.Join(failed, err)
	}
	var listed error
	if f.registered {
		f.orphans, listed = r.observeOrphans(ctx, cluster.Name)
	} else {
		listed = r.forgetOrphans(ctx, cluster.Name)
	}
	stored := r.storeRenewed(ctx, cluster, f.registration)
	return errors.Join(failed, listed, stored, r.writeStatus(ctx, cluster, decide(f)))
}

// pinAll pins the UIDs of all known clusters before the first member is connected, so
// that duplicate registrations are resolved alike regardless of their order.
func (r *Reconciler) pinAll(ctx context.Context) error {
	r.pinning.Lock()
	defer r.pinning.Unlock()
	if r.pinned {
		return nil
	}
	list := &v1.MemberClusterList{}
	if err := r.client.List(ctx, list); err != nil {
		return fmt.Errorf("listing member clusters: %w", err)
	}
	for i := range list.Items {
		cluster := &list.Items[i]
		if !detached(&cluster.Status) && cluster.DeletionTimestamp.IsZero() {
			r.fleet.Pin(cluster.Name, cluster.Status.ClusterUID, cluster.CreationTimestamp.Time)
		}
	}
	r.pinned = true
	return nil
}

func (r *Reconciler) ensureFinalizer(ctx context.Context, cluster *v1.MemberCluster) error {
	before := cluster.DeepCopy()
	if !controllerutil.AddFinalizer(cluster, v1.MemberFinalizer) {
		return nil
	}
	if err := r.client.Patch(ctx, cluster, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("adding the finalizer to member cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// observe reads the input of the status and passes the target to the fleet.
func (r *Reconciler) observe(ctx context.Context, cluster *v1.MemberCluster) (facts, error) {
	f := facts{cluster: cluster, secret: secretName(cluster), now: r.clock.Now()}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: f.secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return facts{}, fmt.Errorf("getting the registration of member cluster %q: %w", cluster.Name, err)
	}
	f.registered = err == nil && registers(secret)
	if f.registered {
		f.registration = secret
		r.fleet.Set(cluster.Name, targetFor(cluster, secret))
	} else {
		r.fleet.Remove(cluster.Name)
	}
	f.state, _ = r.fleet.State(cluster.Name)
	apps := &v1.EcommerceAppList{}
	if err := r.client.List(ctx, apps, client.MatchingFields{appsByCluster: cluster.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return facts{}, fmt.Errorf("listing applications on member cluster %q: %w", cluster.Name, err)
	}
	for range apps.Items {
		f.apps++
	}
	f.residue, err = r.countResidue(ctx, cluster.Name)
	return f, err
}

// targetFor returns how the fleet should connect the member.
func targetFor(cluster *v1.MemberCluster, secret *corev1.Secret) members.Target {
	health := cluster.Spec.Health
	return members.Target{
		Kubeconfig:     secret.Data[secretKey(cluster)],
		Mode:           cluster.Spec.Mode,
		PinnedUID:      cluster.Status.ClusterUID,
		RegisteredAt:   cluster.CreationTimestamp.Time,
		RenewedAccount: secret.Annotations[v1.RenewedAccountAnnotation],
		RenewRequest:   renewRequest(cluster),
		Replaces:       cluster.Annotations[v1.RecoverAnnotation],
		Paused:         cluster.Spec.Paused,
		Health: members.Health{
			Period:           time.Duration(value(health.ProbePeriodSeconds)) * time.Second,
			FailureThreshold: int(value(health.FailureThreshold)),
			SuccessThreshold: int(value(health.SuccessThreshold)),
		},
	}
}

// value returns 0 for nil; the fleet applies defaults.
func value(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

// writeStatus writes the status if it changed, and records events for transitions.
func (r *Reconciler) writeStatus(ctx context.Context, cluster *v1.MemberCluster, status v1.MemberClusterStatus) error {
	if equality.Semantic.DeepEqual(cluster.Status, status) {
		return nil
	}
	before := cluster.DeepCopy()
	cluster.Status = status
	if err := r.client.Status().Patch(ctx, cluster, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("writing the status of member cluster %q: %w", cluster.Name, err)
	}
	for _, e := range transitions(&before.Status, &status) {
		r.record(cluster, e)
	}
	return nil
}

var _ reconcile.Reconciler = (*Reconciler)(nil)
