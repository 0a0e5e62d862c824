package join

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

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
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/config"
)

// Member is a cluster that the caller administrates.
type Member struct {
	// Config is how the caller reaches the cluster.
	Config *rest.Config
	// Client is a client of Config with a deadline for each request.
	Client client.Client
}

// Token is a credential of the hub's account in a member.
type Token struct {
	Value     string
	ExpiresAt time.Time
}

// Identity returns the UID of the cluster's kube-system namespace, which tells
// clusters apart.
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
		return "", fmt.Errorf("making a client of %s: %w", config.Host, err)
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

// Grant applies the account of the hub and its permissions in a member of the mode.
func (m Member) Grant(ctx context.Context, mode v1.Mode) error {
	objects, err := set(mode).Objects()
	if err != nil {
		return fmt.Errorf("reading the member's permissions: %w", err)
	}
	for _, object := range objects {
		err := apply(ctx, m.Client, object)
		if apierrors.IsForbidden(err) {
			return hint.With(err, "The kubeconfig of the member must be an administrator's: it grants the hub permissions, "+
				"and nobody may grant more than they have.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Mint asks for a token of the hub's account that is valid for the given time, at
// least ten minutes. The cluster may shorten it.
func (m Member) Mint(ctx context.Context, ttl time.Duration) (Token, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(ttl / time.Second))},
	}
	if err := m.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return Token{}, fmt.Errorf("asking for a token of %s/%s: %w", account.Namespace, account.Name, err)
	}
	return Token{Value: request.Status.Token, ExpiresAt: request.Status.ExpirationTimestamp.Time}, nil
}

// Revoke takes the hub's permissions and its account away, which ends its tokens
// at once. The namespace stays. What is gone already is fine.
func (m Member) Revoke(ctx context.Context) error {
	return m.drop(ctx, append(
		slices.Concat(rolesOf(config.MemberClusterRole), rolesOf(config.AgentRole)),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}},
	))
}

// apply writes the whole intent; fields of other managers in it are taken over.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner(manifests.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
