package join

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/config"
)

// Hub is the cluster of the hub.
type Hub struct {
	// Client is a client with a deadline for each request.
	Client client.Client
	// Namespace is the one of the registration Secrets.
	Namespace string
	// DryRun is set if Client does not persist what it writes.
	DryRun bool
}

// Registration represents a member as it is written to the hub.
type Registration struct {
	Name       string
	Kubeconfig []byte
	// Mode is written if the MemberCluster has another.
	Mode v1.Mode
	// Provider, Region and Labels are fields of the MemberCluster. If all are empty, the
	// hub creates it and detects them.
	Provider v1.Provider
	Region   string
	Labels   map[string]string
	// CloudAccount is the name of the CloudAccount of the member. It is written if it is
	// not empty.
	CloudAccount string
}

// Observe reads the state of the hub before a registration.
func (h Hub) Observe(ctx context.Context, name string) (Known, error) {
	var known Known
	members := &v1.MemberClusterList{}
	if err := h.Client.List(ctx, members); err != nil {
		return known, fmt.Errorf("listing MemberClusters: %w", err)
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

// CheckAccount returns an error if there is no CloudAccount of the name.
func (h Hub) CheckAccount(ctx context.Context, name string) error {
	err := h.Client.Get(ctx, client.ObjectKey{Name: name}, &v1.CloudAccount{})
	if apierrors.IsNotFound(err) {
		return hint.With(fmt.Errorf("finding CloudAccount %q: %w", name, err), "List all: kubectl get cloudaccounts")
	}
	if err != nil {
		return fmt.Errorf("reading CloudAccount %q: %w", name, err)
	}
	return nil
}

// UID returns the identity of the hub's cluster. It is empty if the user may not read
// that: they can still join members, because the hub checks it as well.
func (h Hub) UID(ctx context.Context) (string, error) {
	uid, err := Identity(ctx, h.Client)
	if err != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("identifying the hub: %w", err)
	}
	return uid, nil
}

// RunsInside reports whether the hub runs in a pod of its cluster; false if the user may
// not list pods.
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

// Register writes the MemberCluster, if there is something to set, and then the Secret,
// so that the hub has everything when it first connects.
func (h Hub) Register(ctx context.Context, r Registration) error {
	if r.Provider != "" || r.Region != "" || len(r.Labels) > 0 {
		if err := apply(ctx, h.Client, r.memberCluster()); err != nil {
			return err
		}
	}
	if err := h.set(ctx, r); err != nil {
		return err
	}
	err := apply(ctx, h.Client, r.secret(h.Namespace))
	if apierrors.IsNotFound(err) {
		return hint.With(err, "The hub has no Namespace "+h.Namespace+". Install it: kubectl shopfleet install hub. "+
			"If the hub runs in another one, name that with --hub-namespace.")
	}
	return err
}

// set sets the mode and the account of the MemberCluster. It is not an apply, because that
// would remove the provider, region and labels of an earlier one.
func (h Hub) set(ctx context.Context, r Registration) error {
	member := &v1.MemberCluster{}
	key := client.ObjectKey{Name: r.Name}
	err := h.Client.Get(ctx, key, member)
	if apierrors.IsNotFound(err) {
		if r.Mode != v1.ModeAgent && r.CloudAccount == "" {
			return nil
		}
		if err := apply(ctx, h.Client, r.memberCluster()); err != nil || h.DryRun {
			return err
		}
		err = h.Client.Get(ctx, key, member)
	}
	if err != nil {
		return fmt.Errorf("reading MemberCluster %q: %w", r.Name, err)
	}
	before := member.DeepCopy()
	if cmp.Or(member.Spec.Mode, v1.ModeAgentless) != r.Mode {
		member.Spec.Mode = r.Mode
	}
	if r.CloudAccount != "" {
		member.Spec.CloudAccountRef = &v1.ObjectReference{Name: r.CloudAccount}
	}
	if equality.Semantic.DeepEqual(before.Spec, member.Spec) {
		return nil
	}
	if err := h.Client.Patch(ctx, member, client.MergeFrom(before), client.FieldOwner(installer.FieldManager)); err != nil {
		return fmt.Errorf("setting the mode and the CloudAccount of MemberCluster %q: %w", r.Name, err)
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
	object.SetAnnotations(map[string]string{v1.RenewedAccountAnnotation: config.Namespace + "/" + config.HubServiceAccount})
	return object
}

var errNotMember = errors.New("not a member of this fleet")

// Leaving is a member that leaves the fleet.
type Leaving struct {
	Name string
	// UID is the identity of the cluster; empty if the hub never connected.
	UID string
	// Apps is the number of EcommerceApps that are placed there.
	Apps int32
	Mode v1.Mode

	member, secret bool
	// at is the endpoint in the Secret.
	at Endpoint
}

// Stays describes what keeps running in the member.
func (l Leaving) Stays() string {
	switch {
	case l.Apps == 0:
		return "What runs there stays."
	case l.Mode == v1.ModeAgent:
		return fmt.Sprintf("Its EcommerceApps (%d) keep running. The agent repairs them, but the hub no longer updates them.", l.Apps)
	default:
		return fmt.Sprintf("Its EcommerceApps (%d) keep running, but are no longer updated or repaired.", l.Apps)
	}
}

var errOtherCluster = errors.New("the kubeconfig may be that of another cluster")

// Verify returns an error unless the cluster with this identity and endpoint certainly is
// the member that leaves.
func (l Leaving) Verify(hubUID, uid string, at Endpoint) error {
	if uid != hubUID && (l.UID == uid || l.UID == "" && l.secret && l.at.Same(at)) {
		return nil
	}
	return hint.With(fmt.Errorf("verifying that the kubeconfig is that of %q: %w", l.Name, errOtherCluster),
		"Nothing was changed. Name the kubeconfig of "+l.Name+" with --member-kubeconfig, or omit --revoke and --delete-agent.")
}

// Find returns a member by its name.
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
		return l, hint.With(fmt.Errorf("finding MemberCluster %q: %w", name, errNotMember), "List all: kubectl get memberclusters")
	}
	return l, nil
}

// Remove deletes the Secret, if it is a registration, and the MemberCluster. The hub then
// disconnects, and changes nothing in the member.
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
