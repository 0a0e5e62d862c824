package copies

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// isPaused reports whether no copy of an application is created, updated or deleted in the member:
// because the member is paused, or the application is. Deleting a paused application proceeds.
func (m *MemberQueue) isPaused(app *v1.EcommerceApp) bool {
	return m.paused || app.Spec.Paused && !app.Ending()
}

// holdCopy returns what would be written of a copy, where live is the present one or nil. It
// writes one thing, unless the member is paused: the pause, to a copy that exists.
func (m *MemberQueue) holdCopy(ctx context.Context, app, intent, live *v1.EcommerceApp) ([]v1.PendingChange, error) {
	if live == nil {
		return []v1.PendingChange{{Kind: "EcommerceApp", Name: app.Name, Action: v1.PendingCreate}}, nil
	}
	if !owned(app)(live) {
		return nil, nil // It is reported as a conflict when the pause ends.
	}
	pending, err := copyChange(intent, live)
	if err != nil || m.paused || live.Spec.Paused && live.ManagedByMode() == m.managedBy {
		return pending, err
	}
	request := apply.Request{Intent: m.pausedCopy(live), Live: live, Owned: owned(app)}
	if _, err := m.applier.Apply(ctx, request); err != nil {
		return pending, fmt.Errorf("pausing the copy: %w", err)
	}
	return pending, nil
}

// pausedCopy returns a copy as it is, but for the pause and the process that reconciles it. The
// annotations that name its origin stay, because its spec does.
func (m *MemberQueue) pausedCopy(live *v1.EcommerceApp) *v1.EcommerceApp {
	out := &v1.EcommerceApp{Spec: *live.Spec.DeepCopy()}
	out.Namespace, out.Name = live.Namespace, live.Name
	out.Spec.Paused = true
	out.Finalizers = []string{v1.SpokeFinalizer}
	out.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: m.name}
	out.Annotations = maps.Clone(live.Annotations)
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool {
		return !slices.Contains([]string{
			v1.HubAppUIDAnnotation, v1.HubGenerationAnnotation, v1.RegionAnnotation, v1.ProviderAnnotation,
			v1.ReconcileAtAnnotation, v1.RestartedAtAnnotation, v1.RevisionAnnotation, v1.PropagatedAnnotation,
			v1.DatabaseCreatedAnnotation, v1.StartEmptyAnnotation, v1.RenderingAnnotation,
		}, key)
	})
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[v1.ManagedByModeAnnotation] = string(m.managedBy)
	return out
}

// copyChange returns the difference between an intent and the copy, without the pause itself.
func copyChange(intent, live *v1.EcommerceApp) ([]v1.PendingChange, error) {
	specs := make([]map[string]any, 0, 2)
	for _, app := range []*v1.EcommerceApp{live, intent} {
		spec := app.Spec.DeepCopy()
		spec.Paused = false
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
		if err != nil {
			return nil, fmt.Errorf("converting the spec: %w", err)
		}
		specs = append(specs, content)
	}
	fields := apply.SpecFields(specs[0], specs[1])
	if former, next := live.Annotations[v1.RestartedAtAnnotation], intent.Annotations[v1.RestartedAtAnnotation]; former != next {
		const most = 9
		fields = append([]string{"metadata.annotations[" + v1.RestartedAtAnnotation + "]: " + former + " -> " + next}, fields[:min(len(fields), most)]...)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return []v1.PendingChange{{Kind: "EcommerceApp", Name: live.Name, Action: v1.PendingUpdate, Fields: fields}}, nil
}

// heldDeletion returns the deletion of a copy that is held back. Without a copy there is none.
func (m *MemberQueue) heldDeletion(ctx context.Context, app *v1.EcommerceApp) ([]v1.PendingChange, error) {
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && !owned(app)(live) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the copy: %w", err)
	}
	return []v1.PendingChange{{Kind: "EcommerceApp", Name: app.Name, Action: v1.PendingDelete}}, nil
}
