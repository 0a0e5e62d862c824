package copies

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ensureNamespace creates the namespace of a copy unless the cache has another copy there. It
// does not change one that exists. Where creating is denied, an existing one will do.
func (m *MemberQueue) ensureNamespace(ctx context.Context, name string) error {
	copies := &v1.EcommerceAppList{}
	if err := m.cluster.GetClient().List(ctx, copies, client.InNamespace(name), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing copies in namespace %q: %w", name, err)
	}
	if len(copies.Items) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	// Not applied: that would ask for the permission to change any namespace.
	namespace := namespaceOf(name)
	denied := m.cluster.GetClient().Create(ctx, namespace, client.FieldOwner(v1.HubFieldManager))
	if denied == nil || apierrors.IsAlreadyExists(denied) {
		return nil
	}
	if err := m.cluster.GetAPIReader().Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return fmt.Errorf("creating the namespace: %w", denied)
	}
	return nil
}

// namespaceOf returns a namespace as the hub creates it.
func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}}}
}
