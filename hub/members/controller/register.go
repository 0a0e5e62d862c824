package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// registered is the label value that registers a Secret, unregistered the one that
// withdraws it.
const (
	registered   = "true"
	unregistered = "false"
)

// registers reports whether a Secret registers a member.
func registers(secret *corev1.Secret) bool {
	return secret.Labels[v1.MemberClusterLabel] == registered && secret.DeletionTimestamp.IsZero()
}

// secretName returns the name of the Secret with the member's kubeconfig.
func secretName(cluster *v1.MemberCluster) string {
	if name := cluster.Spec.KubeconfigSecretRef.Name; name != "" {
		return name
	}
	return cluster.Name
}

// secretKey returns the key of the kubeconfig in that Secret.
func secretKey(cluster *v1.MemberCluster) string {
	return cmp.Or(cluster.Spec.KubeconfigSecretRef.Key, v1.KubeconfigKey)
}

// register creates the MemberCluster of a Secret that has none. Without such a Secret
// there is no member of that name.
func (r *Reconciler) register(ctx context.Context, name string) error {
	r.fleet.Remove(name)
	key := client.ObjectKey{Namespace: r.namespace, Name: name}
	for _, reader := range []client.Reader{r.client, r.direct} {
		secret := &corev1.Secret{}
		err := reader.Get(ctx, key, secret)
		if apierrors.IsNotFound(err) || err == nil && !registers(secret) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("getting registration %q: %w", name, err)
		}
	}
	if taken, err := r.users(ctx, name); len(taken) > 0 || err != nil {
		return err
	}
	if len(name) > validation.LabelValueMaxLength {
		r.recordSecret(key, invalidName())
		return nil // Only another name can succeed.
	}
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(newMemberCluster(name)), client.FieldOwner(v1.HubFieldManager))
	if err != nil {
		if apierror.Decide(err).Blocking {
			r.recordSecret(key, deniedEvent(err))
		}
		return fmt.Errorf("creating member cluster %q: %w", name, err)
	}
	return nil
}

// users returns the MemberClusters that use the Secret. A Secret that a MemberCluster of
// another name uses does not create a second one.
func (r *Reconciler) users(ctx context.Context, secret string) ([]v1.MemberCluster, error) {
	list := &v1.MemberClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing member clusters: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(list.Items), func(c v1.MemberCluster) bool { return secretName(&c) != secret }), nil
}

// newMemberCluster returns the object to apply, without spec: users own it.
func newMemberCluster(name string) *unstructured.Unstructured {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(v1.GroupVersion.WithKind("MemberCluster"))
	cluster.SetName(name)
	cluster.SetLabels(map[string]string{v1.ManagedByLabel: v1.ManagedBy})
	cluster.SetFinalizers([]string{v1.MemberFinalizer})
	return cluster
}

// detach removes a member whose MemberCluster is being deleted from the fleet. Its
// workloads keep running.
func (r *Reconciler) detach(ctx context.Context, cluster *v1.MemberCluster) error {
	r.fleet.Remove(cluster.Name)
	if !controllerutil.ContainsFinalizer(cluster, v1.MemberFinalizer) {
		return nil
	}
	if err := r.withdraw(ctx, cluster); err != nil {
		return err
	}
	before := cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, v1.MemberFinalizer)
	if err := r.client.Patch(ctx, cluster, retry.MergeFromLocked(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer from member cluster %q: %w", cluster.Name, err)
	}
	r.record(cluster, detachedEvent())
	return nil
}

// withdraw unlabels the registration Secret of a member, unless another member uses it
// too.
func (r *Reconciler) withdraw(ctx context.Context, cluster *v1.MemberCluster) error {
	secret := secretName(cluster)
	users, err := r.users(ctx, secret)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(users, func(c v1.MemberCluster) bool {
		return c.Name != cluster.Name && c.DeletionTimestamp.IsZero()
	}) {
		return nil
	}
	return r.unlabel(ctx, secret)
}

// unlabel withdraws a registration, so that the Secret does not create the MemberCluster
// again.
func (r *Reconciler) unlabel(ctx context.Context, name string) error {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) || err == nil && !registers(secret) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting registration %q: %w", name, err)
	}
	before := secret.DeepCopy()
	secret.Labels[v1.MemberClusterLabel] = unregistered
	if err := r.client.Patch(ctx, secret, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("withdrawing registration %q: %w", name, err)
	}
	return nil
}
