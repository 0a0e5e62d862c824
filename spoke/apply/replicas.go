package apply

import (
	"bytes"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leaveReplicas preserves the replicas of a Deployment when the intent stops setting
// them because an autoscaler takes over. Without an owner the field would be reset to its
// default, one replica, until the autoscaler runs, so another field manager owns it until
// then. Zero is not preserved: an autoscaler does not scale a stopped workload, so it
// starts with the number that the update asks for, or else the default. It returns the resource version that
// the given one became.
func (a *Applier) leaveReplicas(ctx context.Context, u update, version string) (string, error) {
	intent := u.intent
	_, wanted, _ := unstructured.NestedFieldNoCopy(intent.Object, "spec", "replicas")
	kept, counted, _ := unstructured.NestedFieldNoCopy(u.content, "spec", "replicas")
	if intent.GetKind() != "Deployment" || wanted || !counted {
		return version, nil
	}
	if a.dryRun {
		// A second dry run would know nothing of the first.
		if n, ok := integer(kept); ok && u.replicas(n) > 0 {
			return version, unstructured.SetNestedField(intent.Object, u.replicas(n), "spec", "replicas")
		}
		return version, nil
	}
	// Cached objects lack the fields of their managers.
	live, err := a.get(ctx, intent)
	if err != nil || live == nil || !a.ownsReplicas(live.GetManagedFields()) {
		return version, err
	}
	has, _, _ := unstructured.NestedInt64(live.(*unstructured.Unstructured).Object, "spec", "replicas")
	replicas := u.replicas(has)
	if replicas == 0 {
		return version, nil
	}
	options := []client.ApplyOption{client.FieldOwner(a.manager + "-replicas")}
	if replicas != has {
		options = append(options, client.ForceOwnership) // Our own field.
	}
	keep := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
	keep.SetGroupVersionKind(intent.GroupVersionKind())
	keep.SetNamespace(live.GetNamespace())
	keep.SetName(live.GetName())
	keep.SetUID(live.GetUID())
	if err := a.send(ctx, keep, options...); err != nil || live.GetResourceVersion() != version {
		return version, err
	}
	return keep.GetResourceVersion(), nil
}

// replicas returns the number of replicas that a Deployment gets that has so many.
func (u update) replicas(has int64) int64 {
	if has == 0 {
		return int64(u.start)
	}
	return has
}

func (a *Applier) ownsReplicas(managers []metav1.ManagedFieldsEntry) bool {
	entry := appliedBy(managers, a.manager)
	return entry != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`))
}
