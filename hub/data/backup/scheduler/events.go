package scheduler

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// appChanged reports whether a Decision depends on a difference between two versions of an application.
// Most updates are about the progress of components, on which none does.
func appChanged(before, now *v1.EcommerceApp) bool {
	return before.Generation != now.Generation ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		!maps.Equal(before.Annotations, now.Annotations) ||
		!slices.EqualFunc(before.Status.Clusters, now.Status.Clusters, sameCluster) ||
		!equality.Semantic.DeepEqual(before.Status.Backups, now.Status.Backups) ||
		!slices.EqualFunc(before.Status.Conditions, now.Status.Conditions, sameCondition)
}

func sameCluster(a, b v1.ClusterStatus) bool {
	return a.Name == b.Name && a.UnknownOrigin == b.UnknownOrigin && (a.Phase == v1.PhaseDeleting) == (b.Phase == v1.PhaseDeleting) &&
		a.DatabaseLost == b.DatabaseLost
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
}

// memberChanged reports whether Decisions about applications in a member depend on a difference: the
// spec, the provider, what overrides select by, or whether the member can be compared.
func memberChanged(before, now *v1.MemberCluster) bool {
	connected := func(m *v1.MemberCluster) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionConnected)
	}
	ready := func(m *v1.MemberCluster) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady)
	}
	return before.Generation != now.Generation || before.Status.Provider != now.Status.Provider ||
		csi.HasSnapshots(before) != csi.HasSnapshots(now) ||
		before.Status.Region != now.Status.Region || before.Status.ClusterUID != now.Status.ClusterUID || !maps.Equal(before.Labels, now.Labels) ||
		connected(before) != connected(now) || ready(before) != ready(now)
}

// accountChanged reports whether an account has a bucket now and had none before, or the reverse, or whether others claim what
// it has.
func accountChanged(before, now *v1.CloudAccount) bool {
	return (before.Spec.ObjectStorage == nil) != (now.Spec.ObjectStorage == nil) || !equality.Semantic.DeepEqual(before.Status.Claims, now.Status.Claims)
}

func requestForBackup(_ context.Context, o client.Object) []reconcile.Request {
	b, ok := o.(*v1.Backup)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.AppRef.Name}}}
}

// requestForRestore returns a request for the application whose backup is verified.
func requestForRestore(_ context.Context, o client.Object) []reconcile.Request {
	r, ok := o.(*v1.Restore)
	if !ok || !r.Spec.Verify || r.Labels[v1.InstanceLabel] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: r.Namespace, Name: r.Labels[v1.InstanceLabel]}}}
}

// requestsForMember returns requests for the applications with backups that are placed on a member.
func (r *Reconciler) requestsForMember(ctx context.Context, o client.Object) []reconcile.Request {
	apps := &v1.EcommerceAppList{}
	if err := r.client.List(ctx, apps, client.MatchingFields{appsByMember: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing applications failed")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(apps.Items))
	for i := range apps.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
	}
	return requests
}

// requestsForAccount returns requests for the applications in the members with an account: where dumps
// should be depends on whether it has a bucket.
func (r *Reconciler) requestsForAccount(ctx context.Context, o client.Object) []reconcile.Request {
	members := &v1.MemberClusterList{}
	if err := r.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing members failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range members.Items {
		if m := &members.Items[i]; m.Spec.CloudAccountRef != nil && m.Spec.CloudAccountRef.Name == o.GetName() {
			requests = append(requests, r.requestsForMember(ctx, m)...)
		}
	}
	return requests
}
