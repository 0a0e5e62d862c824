package permissions

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// TestRestricted checks that only an answer of the cluster counts, and that the check creates nothing.
func TestRestricted(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		want   *bool
	}{
		"denied":    {apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "x", errors.New("denied")), new(true)},
		"admitted":  {nil, new(false)},
		"timeout":   {apierrors.NewTimeoutError("slow", 1), nil},
		"not found": {apierrors.NewNotFound(corev1.Resource("namespaces"), "kube-system"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("create", "persistentvolumeclaims", func(action k8stesting.Action) (bool, runtime.Object, error) {
				create, ok := action.(k8stesting.CreateActionImpl)
				if !ok || create.Namespace != "kube-system" || len(create.CreateOptions.DryRun) != 1 {
					t.Errorf("%#v is not a dry run in kube-system", action)
				}
				return true, &corev1.PersistentVolumeClaim{}, tt.answer
			})
			got := Restricted(t.Context(), client.CoreV1())
			if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
