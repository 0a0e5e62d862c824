package apply

import (
	"bytes"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// setManagedByMode keeps the number of a workload's pods when the intent says nothing
// about it any more, as an autoscaler decides it from now on. A field that nobody
// owns falls back to its default, a single pod, until the autoscaler looks again;
// so somebody else owns it until then. Only zero is not kept: a workload that was stopped
// starts with the default, and no autoscaler would look at it before.
func (a *Applier) handOver(ctx context.Context, intent *unstructured.Unstructured, content map[string]any) error {
	_, wanted, _ := unstructured.NestedFieldNoCopy(intent.Object, "spec", "replicas")
	_, counted, _ := unstructured.NestedFieldNoCopy(content, "spec", "replicas")
	if intent.GetKind() != "Deployment" || wanted || !counted {
		return nil
	}
	// Caches do without the managers of fields.
	live, err := a.get(ctx, intent)
	if err != nil || live == nil || !a.ownsReplicas(live.GetManagedFields()) {
		return err
	}
	replicas, _, _ := unstructured.NestedInt64(live.(*unstructured.Unstructured).Object, "spec", "replicas")
	if replicas == 0 {
		return nil
	}
	keep := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
	keep.SetGroupVersionKind(intent.GroupVersionKind())
	keep.SetNamespace(live.GetNamespace())
	keep.SetName(live.GetName())
	keep.SetUID(live.GetUID())
	return a.send(ctx, keep, client.FieldOwner(a.manager+"-replicas"))
}

func (a *Applier) ownsReplicas(managers []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(managers, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == a.manager && m.Operation == metav1.ManagedFieldsOperationApply && m.FieldsV1 != nil &&
			bytes.Contains(m.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
	})
}
