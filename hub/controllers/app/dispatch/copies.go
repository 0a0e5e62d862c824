package dispatch

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// place is what a copy says about where it is.
type MemberFacts struct {
	cluster, region string
	provider        v1.Provider
	managedBy       v1.ManagedByMode
	// member decides on storage and on how databases are backed up.
	member *v1.MemberCluster
}

// copyFor returns all that the hub says about an application's copy in a member, of
// which live is what is there, or nil. The copy's finalizer comes with it, which saves
// the spoke a write. The error is a *unsupportedError.
func copyFor(app *v1.EcommerceApp, p MemberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	annotations := map[string]string{
		v1.HubAppUIDAnnotation:     string(app.UID),
		v1.HubGenerationAnnotation: strconv.FormatInt(app.Generation, 10),
		v1.ManagedByModeAnnotation: string(p.managedBy),
	}
	if p.region != "" {
		annotations[v1.RegionAnnotation] = p.region
	}
	if p.provider != "" {
		annotations[v1.ProviderAnnotation] = string(p.provider)
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
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: p.cluster},
			Finalizers:  []string{v1.SpokeFinalizer},
		},
		Spec: *app.Spec.DeepCopy(),
	}
	out.Spec.Placement = v1.Placement{}
	return out, localize(app, &out.Spec, p, live)
}

// unlessOlder returns an intent, and without what it says about the place if the copy
// was written by a hub that did not say that yet and is the hub's still: a new version
// of the hub writes no copy only to say where it is. Such a copy gets it with the
// next change.
func unlessOlder(intent, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	if live.Annotations[v1.ManagedByModeAnnotation] != "" || intent.ManagedByMode() != v1.ManagedByHub {
		return intent, nil
	}
	older := intent.DeepCopy()
	for _, key := range []string{v1.ManagedByModeAnnotation, v1.RegionAnnotation, v1.ProviderAnnotation} {
		delete(older.Annotations, key)
	}
	older.SetGroupVersionKind(v1.GroupVersion.WithKind("EcommerceApp"))
	hash, err := apply.Hash(older)
	if err != nil {
		return nil, fmt.Errorf("hashing the copy: %w", err)
	}
	if live.Annotations[v1.SpecHashAnnotation] != hash {
		return intent, nil
	}
	return older, nil
}

// owned tells whether an object in a member is the copy of an application: made
// from it, from an earlier one of the same name, or stripped of where it is from. Of
// the marks of a copy any one is enough, since an application that nobody claims is
// left behind when the hub's is deleted.
func owned(app *v1.EcommerceApp) func(component.Resource) bool {
	return func(live component.Resource) bool {
		uid := live.GetAnnotations()[v1.HubAppUIDAnnotation]
		return uid == string(app.UID) || live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy ||
			uid == "" && live.GetAnnotations()[v1.HubGenerationAnnotation] != ""
	}
}

// observedCopy returns what a member's cache says about a copy, and nil for an
// object that is not the copy of this application as it is now.
func observedCopy(app, live *v1.EcommerceApp) *aggregate.Copy {
	if live.Annotations[v1.HubAppUIDAnnotation] != string(app.UID) {
		return nil
	}
	// What is not a number was edited by hand and will be put right: until then
	// it is no generation of ours.
	generation, err := strconv.ParseInt(live.Annotations[v1.HubGenerationAnnotation], 10, 64)
	if err != nil {
		generation = 0
	}
	return &aggregate.Copy{
		Generation:    live.Generation,
		HubGeneration: generation,
		Deleting:      live.DeletionTimestamp != nil,
		Status:        live.Status,
	}
}
