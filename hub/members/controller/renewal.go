package controller

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// maxRenewRequest is the maximum length of status.lastHandledRenewAt. Longer requests are
// ignored.
const maxRenewRequest = 256

// renewRequest returns the request to renew the member's token that was not handled yet,
// or an empty string.
func renewRequest(cluster *v1.MemberCluster) string {
	request := cluster.Annotations[v1.RenewAtAnnotation]
	if request == cluster.Status.LastHandledRenewAt || len(request) > maxRenewRequest {
		return ""
	}
	return request
}

// storeRenewed stores the renewed kubeconfig of a member, if there is one, in its
// registration Secret, which may be nil.
func (r *Reconciler) storeRenewed(ctx context.Context, cluster *v1.MemberCluster, registration *corev1.Secret) error {
	renewed, ok := r.fleet.Renewed(cluster.Name)
	if !ok || registration == nil {
		return nil
	}
	return r.store(ctx, cluster, registration, renewed)
}

// store stores a renewed kubeconfig. It does nothing if the Secret has another kubeconfig
// than the one that was renewed, and returns a conflict if the Secret was changed
// concurrently.
func (r *Reconciler) store(ctx context.Context, cluster *v1.MemberCluster, registration *corev1.Secret, renewed members.Renewed) error {
	key := secretKey(cluster)
	if !bytes.Equal(registration.Data[key], renewed.Replaces) {
		return nil
	}
	secret := registration.DeepCopy()
	secret.Data[key] = renewed.Kubeconfig
	if err := r.client.Patch(ctx, secret, retry.MergeFromLocked(registration), client.FieldOwner(v1.HubFieldManager)); err != nil {
		if apierror.Decide(err).Blocking {
			r.record(cluster, notStoredEvent(err))
		}
		return fmt.Errorf("storing the renewed credentials of member cluster %q: %w", cluster.Name, err)
	}
	return nil
}
