package join

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/config"
)

// Member is a cluster that the user administers.
type Member struct {
	// Config has the user's credentials.
	Config *rest.Config
	// Client is a client of Config with a deadline for each request.
	Client client.Client
	// DryRun makes Grant send dry-run requests only.
	DryRun bool
}

// Token is a token of the hub's ServiceAccount in a member.
type Token struct {
	Value     string
	ExpiresAt time.Time
}

// Identity returns the UID of the kube-system namespace, which identifies the cluster.
func Identity(ctx context.Context, c client.Reader) (string, error) {
	system := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return "", fmt.Errorf("reading namespace %q: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}

// Kubernetes returns the version of the cluster's API server.
func Kubernetes(ctx context.Context, config *rest.Config) (string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	raw, err := d.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(raw, &info)
	}
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", config.Host, err)
	}
	return info.GitVersion, nil
}

// Grant applies the ServiceAccount of the hub and its permissions for the mode, after the policies that
// bound what the account may do with them. It prunes policies of a former version.
func (m Member) Grant(ctx context.Context, mode v1.Mode) error {
	policies, err := config.MemberPolicies()
	if err != nil {
		return fmt.Errorf("reading the member's admission policies: %w", err)
	}
	objects, err := set(mode).Objects()
	if err != nil {
		return fmt.Errorf("reading the member's permissions: %w", err)
	}
	objects = append(policies, objects...)
	if m.DryRun {
		// It does without the Namespace, which is not persisted.
		plan := installer.Plan{Objects: objects, DryRun: true}
		return plan.Apply(ctx, m.Client, func(installer.Result) error { return nil })
	}
	for _, object := range objects {
		err := apply(ctx, m.Client, object)
		if apierrors.IsForbidden(err) {
			return hint.With(err, "You must be an administrator of the member, because you can only grant permissions that you have. "+
				"Use another kubeconfig with --member-kubeconfig.")
		}
		if err != nil {
			return err
		}
	}
	return m.prunePolicies(ctx, policies)
}

// prunePolicies deletes the admission policies that the plugin installed for the hub's account, bindings
// first, except those that are kept.
func (m Member) prunePolicies(ctx context.Context, kept []*unstructured.Unstructured) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := m.Client.List(ctx, found, client.HasLabels{config.MemberPolicyLabel}); err != nil {
			return fmt.Errorf("listing the admission policies of the member: %w", err)
		}
		for i := range found.Items {
			object := &found.Items[i]
			object.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind))
			if slices.ContainsFunc(kept, func(k *unstructured.Unstructured) bool { return k.GetKind() == kind && k.GetName() == object.Name }) {
				continue
			}
			if err := m.remove(ctx, []client.Object{object}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mint requests a token of the hub's ServiceAccount. The TTL is at least ten minutes, and
// the cluster may shorten it.
func (m Member) Mint(ctx context.Context, ttl time.Duration) (Token, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(ttl / time.Second))},
	}
	if err := m.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return Token{}, fmt.Errorf("requesting a token for ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	return Token{Value: request.Status.Token, ExpiresAt: request.Status.ExpirationTimestamp.Time}, nil
}

// Revoke deletes the hub's permissions, record and ServiceAccount, which invalidates its tokens
// at once, and then the admission policies. The Namespace stays.
func (m Member) Revoke(ctx context.Context) error {
	err := m.remove(ctx, append(
		slices.Concat(rolesOf(config.MemberClusterRole), rolesOf(config.AgentRole)),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}},
		// Without it, another hub may manage the member.
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}},
	))
	if err != nil {
		return err
	}
	policies, err := config.MemberPolicies()
	if err != nil {
		return fmt.Errorf("reading the member's admission policies: %w", err)
	}
	for _, policy := range policies { // Also those that were applied without the label.
		if err := m.remove(ctx, []client.Object{policy}); err != nil {
			return err
		}
	}
	return m.prunePolicies(ctx, nil)
}

// apply applies the full intent, and takes over its fields from other managers.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(installer.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
