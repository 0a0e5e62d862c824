package app

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/rollup"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// copyFor returns all that the hub says about an application's copy in a member.
// The copy's finalizer comes with it, which saves the spoke a write.
func copyFor(app *v1.EcommerceApp, member string) *v1.EcommerceApp {
	annotations := map[string]string{
		v1.HubAppUIDAnnotation:     string(app.UID),
		v1.HubGenerationAnnotation: strconv.FormatInt(app.Generation, 10),
	}
	for _, key := range []string{v1.ReconcileAtAnnotation, v1.RestartedAtAnnotation} {
		if value := app.Annotations[key]; value != "" {
			annotations[key] = value
		}
	}
	out := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   app.Namespace,
			Name:        app.Name,
			Annotations: annotations,
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: member},
			Finalizers:  []string{v1.SpokeFinalizer},
		},
		Spec: *app.Spec.DeepCopy(),
	}
	out.Spec.Placement = v1.Placement{}
	return out
}

// owned tells whether an object in a member is the copy of an application: made
// from it, from an earlier one of the same name, or stripped of where it is from.
func owned(app *v1.EcommerceApp) func(component.Resource) bool {
	return func(live component.Resource) bool {
		uid := live.GetAnnotations()[v1.HubAppUIDAnnotation]
		return uid == string(app.UID) || live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy
	}
}

// observedCopy returns what a member's cache says about a copy, and nil for an
// object that is not the copy of this application as it is now.
func observedCopy(app, live *v1.EcommerceApp) *rollup.Copy {
	if live.Annotations[v1.HubAppUIDAnnotation] != string(app.UID) {
		return nil
	}
	// What is not a number was edited by hand and will be put right: until then
	// it is no generation of ours.
	generation, err := strconv.ParseInt(live.Annotations[v1.HubGenerationAnnotation], 10, 64)
	if err != nil {
		generation = 0
	}
	return &rollup.Copy{
		Generation:    live.Generation,
		HubGeneration: generation,
		Deleting:      live.DeletionTimestamp != nil,
		Status:        live.Status,
	}
}
