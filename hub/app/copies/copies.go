package copies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// memberFacts are the facts about a member that its copies carry.
type memberFacts struct {
	cluster, region string
	provider        v1.Provider
	managedBy       v1.ManagedByMode
	// member decides on storage and on how databases are backed up.
	member *v1.MemberCluster
	// effective is the spec that the cluster has, with its revision. The copy may keep parts of it. SpecErr is why
	// it is not known.
	effective revisions.Effective
	specErr   error
	// order says what was decided about the member; nil if nothing was.
	order *state.Order
}

// copyFor returns the full intent for an application's copy in a member, where live is
// the present copy or nil. It includes the finalizer of the copy, which saves the spoke a
// write. The error is an *apierror.SpecError.
func copyFor(app *v1.EcommerceApp, facts memberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	annotations := map[string]string{
		v1.HubAppUIDAnnotation:     string(app.UID),
		v1.HubGenerationAnnotation: strconv.FormatInt(app.Generation, 10),
		v1.ManagedByModeAnnotation: string(facts.managedBy),
	}
	if facts.region != "" {
		annotations[v1.RegionAnnotation] = facts.region
	}
	if facts.provider != "" {
		annotations[v1.ProviderAnnotation] = string(facts.provider)
	}
	if facts.effective.Revision != 0 {
		annotations[v1.RevisionAnnotation] = strconv.FormatInt(facts.effective.Revision, 10)
	}
	if facts.order != nil {
		if facts.order.DatabaseCreated {
			annotations[v1.DatabaseCreatedAnnotation] = "true"
		}
		if facts.order.Rendering != "" {
			annotations[v1.RenderingAnnotation] = facts.order.Rendering
		}
	}
	for _, key := range []string{v1.ReconcileAtAnnotation, v1.RestartedAtAnnotation, v1.StartEmptyAnnotation} {
		if value := app.Annotations[key]; value != "" {
			annotations[key] = value
		}
	}
	out := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   app.Namespace,
			Name:        app.Name,
			Annotations: annotations,
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: facts.cluster},
			Finalizers:  []string{v1.SpokeFinalizer},
		},
	}
	if facts.specErr != nil {
		return out, facts.specErr
	}
	facts.effective.Spec.DeepCopyInto(&out.Spec) // The facts are read again for another intent.
	err := localize(app, &out.Spec, facts, live)
	if facts.effective.Earlier {
		if facts.isNewTo(live) {
			err = cmp.Or(err, checkServer(&out.Spec, live))
		}
		keepDatabase(&out.Spec, facts.effective.Spec.Database, live)
		keepReplicas(&out.Spec, &app.Spec, live)
	}
	return out, cmp.Or(err, checkServer(&out.Spec, live))
}

// isNewTo reports whether a copy has not had the revision that it is to have: whether its database can follow is checked
// with the server of the revision.
func (m memberFacts) isNewTo(live *v1.EcommerceApp) bool {
	if live == nil {
		return false
	}
	has := v1.RevisionOf(live.Annotations)
	return has != 0 && has < m.effective.Revision
}

// keepReplicas gives the workloads of an earlier revision the numbers of pods of the copy, where the spec has
// autoscaling in place of a number that would apply at once: that of the revision may be of long ago.
func keepReplicas(spec, next *v1.EcommerceAppSpec, live *v1.EcommerceApp) {
	if live == nil {
		return
	}
	keep := func(w, next, live *v1.Workload) bool {
		kept := next.Autoscaling != nil && w.Autoscaling == nil && live.Autoscaling == nil
		if kept {
			w.Replicas = live.Replicas
		}
		return kept
	}
	if keep(&spec.Frontend, &next.Frontend, &live.Spec.Frontend) {
		spec.Replicas = live.Spec.Replicas
	}
	keep(&spec.Backend, &next.Backend, &live.Spec.Backend)
}

// keepDatabase gives the database of an earlier revision its server, that of the revision with its overrides,
// or that of the copy.
func keepDatabase(spec *v1.EcommerceAppSpec, released *v1.Database, live *v1.EcommerceApp) {
	if spec.Database != nil {
		spec.Database.Version, spec.Database.Image = released.Version, released.Image
	}
	if live != nil {
		rollout.KeepDatabase(spec, live)
	}
}

// leaveCopy leaves a copy as it is, because a cause keeps it from being made from its application. It
// writes what does not depend on the spec: the pause, and the process that reconciles the copy.
func (m *MemberQueue) leaveCopy(ctx context.Context, app, live *v1.EcommerceApp, cause error) error {
	if live == nil || !owned(app)(live) {
		return cause
	}
	var err error
	if m.isPaused(app) {
		_, err = m.holdCopy(ctx, app, live, live)
	} else {
		err = m.setManagedByMode(ctx, live)
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// asWritten returns an intent, or the copy as it was written before if that differs in nothing that
// is worth a write: in the generation if it follows, in the member's facts if an older hub wrote
// the copy without them and the hub still runs it, or in that its database was created, if the copy itself
// says so. They are written with the next change.
func asWritten(intent, live *v1.EcommerceApp, follows bool) (*v1.EcommerceApp, error) {
	lacksFacts := live.Annotations[v1.ManagedByModeAnnotation] == "" && intent.ManagedByMode() == v1.ManagedByHub
	lacksCreated := live.Annotations[v1.DatabaseCreatedAnnotation] == "" && intent.Annotations[v1.DatabaseCreatedAnnotation] != "" &&
		live.Status.DatabaseCreated
	if !lacksFacts && !follows && !lacksCreated {
		return intent, nil
	}
	older := intent.DeepCopy()
	if follows {
		older.Annotations[v1.HubGenerationAnnotation] = live.Annotations[v1.HubGenerationAnnotation]
	}
	if lacksCreated {
		delete(older.Annotations, v1.DatabaseCreatedAnnotation)
	}
	if lacksFacts {
		for _, key := range []string{v1.ManagedByModeAnnotation, v1.RegionAnnotation, v1.ProviderAnnotation} {
			delete(older.Annotations, key)
		}
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

// isNextOf reports whether the generation of an application follows the one of its copy in a member,
// without any between that the copy is not known to have had. A copy that waits for the user was
// not compared.
func (t *task) isNextOf(live *v1.EcommerceApp) bool {
	from := v1.OriginOf(live.Annotations)
	return t.order != nil && t.waiting == "" && from.App == t.App.UID && from.Generation < t.App.Generation &&
		max(from.Generation, t.order.Applied) >= t.App.Generation-1
}

// keptBy returns what an intent for a copy keeps.
func keptBy(app, intent *v1.EcommerceApp) state.Kept {
	if from := v1.OriginOf(intent.Annotations).Generation; from != app.Generation {
		return state.Kept{Generation: app.Generation, From: from}
	}
	return state.Kept{}
}

// isCurrent reports whether a copy of an earlier generation is also that of the present one: its queue
// found that, or will. Last is the result of the queue.
func (m *MemberQueue) isCurrent(ctx context.Context, t *task, live *v1.EcommerceApp, last state.Result) bool {
	if from := v1.OriginOf(live.Annotations).Generation; last.Kept == (state.Kept{Generation: t.App.Generation, From: from}) {
		return true
	}
	if !t.isNextOf(live) {
		return false
	}
	facts, err := m.facts(ctx, t)
	if err != nil || facts == nil {
		return false
	}
	intent, err := m.intentFor(t.App, *facts, live)
	if err != nil {
		return false
	}
	intent, err = asWritten(intent, live, true)
	return err == nil && keptBy(t.App, intent) != state.Kept{}
}

// owned returns a function that reports whether an object in a member is the copy of an
// application: made from it, or stripped of its origin. Any one mark of a copy is enough,
// since an object without an owner is left behind when the hub's application is deleted.
func owned(app *v1.EcommerceApp) func(component.Resource) bool { return isOwnedBy(app.UID) }

// isOwnedBy returns the function for an application with a UID.
func isOwnedBy(app types.UID) func(component.Resource) bool {
	return func(live component.Resource) bool {
		uid := live.GetAnnotations()[v1.HubAppUIDAnnotation]
		return uid == string(app) || uid == "" &&
			(live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy || live.GetAnnotations()[v1.HubGenerationAnnotation] != "")
	}
}

// adoptable returns a function that reports whether an object in a member is, or may become,
// the copy of an application: a copy of another one with the same name may, if
// assessCopy allows it.
func adoptable(app *v1.EcommerceApp) func(component.Resource) bool {
	return func(live component.Resource) bool {
		return owned(app)(live) || live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy
	}
}

// observedCopy returns the state of a copy in a member's cache, or nil if the object is
// not the copy of this application.
func observedCopy(app, live *v1.EcommerceApp) *aggregate.Copy {
	if live.Annotations[v1.HubAppUIDAnnotation] != string(app.UID) {
		return nil
	}
	found := &aggregate.Copy{
		Generation:    live.Generation,
		HubGeneration: v1.OriginOf(live.Annotations).Generation,
		Revision:      v1.RevisionOf(live.Annotations),
		Rendering:     live.Annotations[v1.RenderingAnnotation],
		Database:      v1.CopiedServerOf(live),
		Deleting:      live.DeletionTimestamp != nil,
		Status:        live.Status,
	}
	// Until its own finalizer is removed, the status of the copy says what is deleted.
	if found.Deleting && !slices.Contains(live.Finalizers, v1.SpokeFinalizer) {
		found.Held = component.HeldBy(live.Finalizers, metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents)
		found.HeldSince = live.DeletionTimestamp.Time
	}
	return found
}
