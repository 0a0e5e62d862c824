package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
)

// Why a token is not renewed.
var (
	errNotRenewed   = errors.New("the hub does not renew its token")
	errRejected     = errors.New("the member rejects the hub's token")
	errNotConnected = errors.New("the hub is not connected to the member")
)

// listMembers is the hint for a member that does not exist.
const listMembers = "List all: kubectl get memberclusters"

// RequestRenewal makes the hub renew its token in a member. The request is a value that
// the MemberCluster did not have before; status.lastHandledRenewAt then has it.
func (h Hub) RequestRenewal(ctx context.Context, name, request string) error {
	member, err := h.renewable(ctx, name)
	if err != nil {
		return err
	}
	if err := connected(member); err != nil {
		return err
	}
	before := member.DeepCopy()
	if member.Annotations == nil {
		member.Annotations = map[string]string{}
	}
	member.Annotations[v1.RenewAtAnnotation] = request
	if err := h.Client.Patch(ctx, member, client.MergeFrom(before), client.FieldOwner(installer.FieldManager)); err != nil {
		return fmt.Errorf("annotating MemberCluster %q: %w", name, err)
	}
	return nil
}

// renewable returns a member, unless its Secret is one whose token the hub does not renew.
// Users may renew tokens without the permission to read Secrets.
func (h Hub) renewable(ctx context.Context, name string) (*v1.MemberCluster, error) {
	member := &v1.MemberCluster{}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
		return nil, hint.IfNotFound(fmt.Errorf("getting MemberCluster %q: %w", name, err), listMembers)
	}
	if _, err := h.registration(ctx, member); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return member, nil
}

// registration returns the Secret of a member. It returns an error if the hub does not
// renew its token.
func (h Hub) registration(ctx context.Context, member *v1.MemberCluster) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: h.Namespace, Name: cmp.Or(member.Spec.KubeconfigSecretRef.Name, member.Name)}
	secret := &corev1.Secret{}
	if err := h.Client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", key, err)
	}
	if secret.Annotations[v1.RenewedAccountAnnotation] == "" {
		return nil, hint.With(fmt.Errorf("renewing the token of %q: %w: Secret %s has no annotation %s", member.Name, errNotRenewed, key, v1.RenewedAccountAnnotation),
			"Replace the kubeconfig in that Secret, or let the hub have a token that it can renew: kubectl shopfleet join "+member.Name+" --member-kubeconfig FILE")
	}
	return secret, nil
}

// connected returns an error if the hub cannot request a token, because it is not
// connected to the member.
func connected(member *v1.MemberCluster) error {
	c := meta.FindStatusCondition(member.Status.Conditions, v1.ConditionConnected)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	const withFile = "Renew it with your own credentials: kubectl shopfleet renew %s --member-kubeconfig FILE"
	if c.Reason == v1.ReasonUnauthorized || c.Reason == v1.ReasonExpired {
		return hint.With(fmt.Errorf("renewing the token of %q: %w", member.Name, errRejected), fmt.Sprintf(withFile, member.Name))
	}
	return hint.With(fmt.Errorf("renewing the token of %q: %w: %s", member.Name, errNotConnected, c.Message),
		"Try again when it is connected. If the token is the reason: "+fmt.Sprintf(withFile, member.Name))
}

// Renewal is the renewal of the hub's token by an administrator of the member.
type Renewal struct {
	// Member is the member as the hub knows it.
	Member *v1.MemberCluster

	key    string
	secret *corev1.Secret
}

// PrepareRenewal returns a renewal of the hub's token. It returns an error unless the
// cluster with this identity certainly is the member.
func (h Hub) PrepareRenewal(ctx context.Context, name, uid string) (Renewal, error) {
	member := &v1.MemberCluster{}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
		return Renewal{}, hint.IfNotFound(fmt.Errorf("getting MemberCluster %q: %w", name, err), listMembers)
	}
	if member.Status.ClusterUID != uid {
		return Renewal{}, hint.With(fmt.Errorf("verifying that the kubeconfig is that of %q: %w", name, errOtherCluster),
			"Nothing was changed. Name the kubeconfig of "+name+" with --member-kubeconfig.")
	}
	secret, err := h.registration(ctx, member)
	return Renewal{Member: member, key: cmp.Or(member.Spec.KubeconfigSecretRef.Key, v1.KubeconfigKey), secret: secret}, err
}

// Store writes a token to the registration Secret. It returns a conflict if the Secret was
// changed since the renewal was prepared.
func (h Hub) Store(ctx context.Context, r Renewal, token Token) error {
	raw, err := kubeconfig.WithToken(r.secret.Data[r.key], token.Value)
	if err != nil {
		return hint.With(fmt.Errorf("replacing the token in Secret %s/%s: %w", r.secret.Namespace, r.secret.Name, err),
			"Write the Secret anew: kubectl shopfleet join "+r.Member.Name+" --member-kubeconfig FILE --overwrite")
	}
	changed := r.secret.DeepCopy()
	changed.Data[r.key] = raw
	patch := client.MergeFromWithOptions(r.secret, client.MergeFromWithOptimisticLock{})
	if err := h.Client.Patch(ctx, changed, patch, client.FieldOwner(installer.FieldManager)); err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", r.secret.Namespace, r.secret.Name, err)
	}
	return nil
}
