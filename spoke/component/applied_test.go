package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestApplied checks that the record is read as it was written.
func TestApplied(t *testing.T) {
	t.Parallel()
	recorded := func(a component.Applied) *corev1.Service {
		s := &corev1.Service{}
		a.Record(s)
		return s
	}
	managed := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{v1.SpecHashAnnotation: "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsType: "FieldsV1"}},
	}}
	for name, tt := range map[string]struct {
		object *corev1.Service
		want   component.Applied
		found  bool
		hash   string
	}{
		"hash and fingerprint": {recorded(component.Applied{Hash: "a1", Fingerprint: 1 << 63}), component.Applied{Hash: "a1", Fingerprint: 1 << 63}, true, "a1"},
		"fingerprint alone":    {recorded(component.Applied{Fingerprint: 7}), component.Applied{Fingerprint: 7}, true, ""},
		"nothing applied":      {recorded(component.Applied{}), component.Applied{}, true, ""},
		"managed fields":       {managed, component.Applied{}, false, "1"},
		"neither":              {&corev1.Service{}, component.Applied{}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, found := component.AppliedOf(tt.object)
			if diff := cmp.Diff(tt.want, got); diff != "" || found != tt.found {
				t.Errorf("found %t (-want +got):\n%s", found, diff)
			}
			if hash := component.SpecHash(tt.object); hash != tt.hash {
				t.Errorf("hash %q, want %q", hash, tt.hash)
			}
		})
	}
}
