package copies

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testNamespace checks that a namespace is created without a read, one with another copy costs nothing, and where no
// namespace may be created, one that exists will do.
func testNamespace(t *testing.T, m *member) {
	t.Helper()
	m.app.Namespace = "namespace-of-" + m.app.Name
	m.refused = apierrors.NewForbidden(corev1.Resource("namespaces"), m.app.Namespace, errors.New("refused"))
	if err := m.queue.ensureNamespace(t.Context(), m.app.Namespace); !apierrors.IsForbidden(err) {
		t.Errorf("a namespace that may not be created: %v, want that it is forbidden", err)
	}
	m.refused, m.denied, m.creations = nil, errors.New("read"), 0
	m.namespace(t)
	m.denied = nil
	m.namespace(t)
	if m.creations != 2 {
		t.Errorf("%d creations, want one without a read, and another for a namespace that exists", m.creations)
	}
	m.refused = apierrors.NewForbidden(corev1.Resource("namespaces"), m.app.Namespace, errors.New("refused"))
	m.namespace(t)
	m.creations = 0
	m.reconcile(t) // The copy.
	m.creations = 0
	m.namespace(t)
	if m.creations != 0 {
		t.Error("the namespace of a copy in the cache was created again")
	}
}

func (m *member) namespace(t *testing.T) {
	t.Helper()
	if err := m.queue.ensureNamespace(t.Context(), m.app.Namespace); err != nil {
		t.Fatal(err)
	}
}

// GetClient returns a client that reads copies from the cache.
func (m *member) GetClient() client.Client {
	return interceptor.NewClient(m.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			found, ok := into.(*v1.EcommerceApp)
			switch {
			case !ok:
				return c.Get(ctx, key, into, opts...)
			case m.cached == nil:
				return apierrors.NewNotFound(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), key.Name)
			}
			m.cached.DeepCopyInto(found)
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			m.creations++
			if m.refused != nil {
				return m.refused
			}
			return c.Create(ctx, object, opts...)
		},
	})
}
