package join

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestNarrowInTime: a handover that the hub does not end in time is told from one that fails.
func TestNarrowInTime(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", Annotations: map[string]string{
		v1.HubAppUIDAnnotation: "u", v1.ManagedByModeAnnotation: string(v1.ManagedByAgent),
	}}}
	m := Member{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(copied).Build()}
	ctx, cancel := context.WithTimeout(t.Context(), handoverPeriod/10)
	defer cancel()
	if err := m.Narrow(ctx, v1.ModeAgentless); !errors.Is(err, ErrNotHandedOver) {
		t.Errorf("error %v, want %v", err, ErrNotHandedOver)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if err := m.Narrow(ctx, v1.ModeAgentless); err == nil || errors.Is(err, ErrNotHandedOver) {
		t.Errorf("error %v, want that the user interrupted it", err)
	}
}
