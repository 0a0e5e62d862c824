package join

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/config"
)

// Hub is the hub's cluster.
type Hub struct {
	// Client is a client with a deadline for each request.
	Client client.Client
	// Namespace is where the hub looks for registration Secrets.
	Namespace string
}

// Registration is what the hub is told about a member.
type Registration struct {
	Name       string
	Kubeconfig []byte
	// Mode says who turns copies into workloads there. One that differs from what the
	// MemberCluster says is written.
	Mode v1.Mode
	// Provider, Region and Labels go into the MemberCluster. When all are empty it
	// is left to the hub, which detects them.
	Provider v1.Provider
	Region   string
	Labels   map[string]string
}

// Observe reads what the hub knows that bears on a registration.
func (h Hub) Observe(ctx context.Context, name string) (Known, error) {
	var known Known
	members := &v1.MemberClusterList{}
	if err := h.Client.List(ctx, members); err != nil {
		return known, fmt.Errorf("listing the members of the hub: %w", err)
	}
	known.Members = members.Items
	secret := &corev1.Secret{}
	err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: name}, secret)
	switch {
	case err == nil:
		known.Secret = secret
	case !apierrors.IsNotFound(err):
		return known, fmt.Errorf("reading Secret %q: %w", h.Namespace+"/"+name, err)
	}
	known.HubUID, err = h.UID(ctx)
	return known, err
}

// UID returns the identity of the hub's cluster, or nothing to who may not read it:
// they can still join members, and the hub checks for itself.
func (h Hub) UID(ctx context.Context) (string, error) {
	uid, err := Identity(ctx, h.Client)
	if err != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("identifying the hub: %w", err)
	}
	return uid, nil
}

// RunsInside tells whether the hub's process is a pod of the hub's cluster. Who may
// not list pods learns nothing.
func (h Hub) RunsInside(ctx context.Context) bool {
	pods := &corev1.PodList{}
	if err := h.Client.List(ctx, pods, client.InNamespace(h.Namespace)); err != nil {
		return false
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.ServiceAccountName == config.HubServiceAccount {
			return true
		}
	}
	return false
}

// Register writes the MemberCluster, where there is something to say about it, and
// then the Secret, so that the first connection knows all.
func (h Hub) Register(ctx context.Context, r Registration) error {
	if r.Provider != "" || r.Region != "" || len(r.Labels) > 0 {
		if err := apply(ctx, h.Client, r.memberCluster()); err != nil {
			return err
		}
	}
	if err := h.setMode(ctx, r); err != nil {
		return err
	}
	err := apply(ctx, h.Client, r.secret(h.Namespace))
	if apierrors.IsNotFound(err) {
		return hint.With(err, "The hub has no namespace "+h.Namespace+": kubectl apply -f config/rbac/hub, "+
			"or name the one that cmd/hub was started with by --hub-namespace.")
	}
	return err
}

// setMode makes the MemberCluster say the mode. It is no apply, which would take back
// what an earlier one said about provider, region and labels.
func (h Hub) setMode(ctx context.Context, r Registration) error {
	member := &v1.MemberCluster{}
	err := h.Client.Get(ctx, client.ObjectKey{Name: r.Name}, member)
	switch {
	case apierrors.IsNotFound(err) && r.Mode == v1.ModeAgent:
		return apply(ctx, h.Client, r.memberCluster())
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading MemberCluster %q: %w", r.Name, err)
	case cmp.Or(member.Spec.Mode, v1.ModeAgentless) == r.Mode:
		return nil
	}
	before := member.DeepCopy()
	member.Spec.Mode = r.Mode
	if err := h.Client.Patch(ctx, member, client.MergeFrom(before), client.FieldOwner(manifests.FieldManager)); err != nil {
		return fmt.Errorf("setting the mode of MemberCluster %q: %w", r.Name, err)
	}
	return nil
}

func (r Registration) memberCluster() *unstructured.Unstructured {
	spec := map[string]any{}
	if r.Provider != "" {
		spec["provider"] = string(r.Provider)
	}
	if r.Region != "" {
		spec["region"] = r.Region
	}
	if r.Mode == v1.ModeAgent {
		spec["mode"] = string(r.Mode)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(v1.GroupVersion.WithKind("MemberCluster"))
	object.SetName(r.Name)
	if len(r.Labels) > 0 {
		object.SetLabels(r.Labels)
	}
	return object
}

func (r Registration) secret(namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"type": string(corev1.SecretTypeOpaque),
		"data": map[string]any{v1.KubeconfigKey: base64.StdEncoding.EncodeToString(r.Kubeconfig)},
	}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	object.SetNamespace(namespace)
	object.SetName(r.Name)
	object.SetLabels(map[string]string{v1.MemberClusterLabel: "true"})
	return object
}

// errNotMember tells that there is nothing to remove.
var errNotMember = errors.New("not a member of this fleet")

// Leaving is what was found of a member that leaves.
type Leaving struct {
	Name string
	// UID is the cluster's identity; empty when the hub never connected.
	UID string
	// Apps is the number of shops that were placed there, and Mode who runs them.
	Apps int32
	Mode v1.Mode

	member, secret bool
	// at is where the Secret leads.
	at Endpoint
}

// Stays says what the hub leaves behind.
func (l Leaving) Stays() string {
	switch {
	case l.Apps == 0:
		return "What runs there stays."
	case l.Mode == v1.ModeAgent:
		return fmt.Sprintf("What runs there stays: %d of the fleet's shops, which its agent repairs and nobody updates now.", l.Apps)
	default:
		return fmt.Sprintf("What runs there stays: %d of the fleet's shops, which nobody repairs or updates now.", l.Apps)
	}
}

// errOtherCluster tells that a kubeconfig leads to another cluster than the member.
var errOtherCluster = errors.New("the kubeconfig leads to another cluster, or may do so")

// Verify tells whether the cluster with this identity and endpoint is the member
// that leaves. In doubt it is not.
func (l Leaving) Verify(hubUID, uid string, at Endpoint) error {
	if uid != hubUID && (l.UID == uid || l.UID == "" && l.secret && l.at.Same(at)) {
		return nil
	}
	return hint.With(fmt.Errorf("revoking on %q: %w", l.Name, errOtherCluster),
		"Nothing was changed. Give the kubeconfig of "+l.Name+", or leave --revoke out.")
}

// Find looks for a member by its name.
func (h Hub) Find(ctx context.Context, name string) (Leaving, error) {
	l := Leaving{Name: name}
	member := &v1.MemberCluster{}
	switch err := h.Client.Get(ctx, client.ObjectKey{Name: name}, member); {
	case err == nil:
		l.member, l.UID, l.Apps, l.Mode = true, member.Status.ClusterUID, member.Status.Apps, member.Spec.Mode
	case !apierrors.IsNotFound(err):
		return l, fmt.Errorf("reading MemberCluster %q: %w", name, err)
	}
	secret := &corev1.Secret{}
	switch err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: name}, secret); {
	case err == nil:
		_, l.secret = secret.Labels[v1.MemberClusterLabel]
		l.at, _ = endpointIn(secret.Data[v1.KubeconfigKey])
	case !apierrors.IsNotFound(err):
		return l, fmt.Errorf("reading Secret %q: %w", h.Namespace+"/"+name, err)
	}
	if !l.member && !l.secret {
		return l, hint.With(fmt.Errorf("%q: %w", name, errNotMember), "See the members: kubectl shopfleet clusters.")
	}
	return l, nil
}

// Remove deletes the Secret, unless it is somebody else's, and the MemberCluster.
// The hub then lets go of the cluster and leaves what runs there alone.
func (h Hub) Remove(ctx context.Context, l Leaving) error {
	if l.secret {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: l.Name}}
		if err := client.IgnoreNotFound(h.Client.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("deleting Secret %q: %w", h.Namespace+"/"+l.Name, err)
		}
	}
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: l.Name}}
	if err := client.IgnoreNotFound(h.Client.Delete(ctx, member)); err != nil {
		return fmt.Errorf("deleting MemberCluster %q: %w", l.Name, err)
	}
	return nil
}
