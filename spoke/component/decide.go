package component

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Action represents the kind of write that a step makes.
type Action string

// The actions.
const (
	// Apply writes Step.Object, if it differs.
	Apply Action = "Apply"
	// Grow expands the claim Step.Target to Step.Size.
	Grow Action = "Grow"
	// Recreate deletes the StatefulSet Step.Target to change an immutable field. A later
	// pass creates it again.
	Recreate Action = "Recreate"
	// Scale gives the Deployment Step.Target, which serves until another replaces it, Step.Replicas.
	Scale Action = "Scale"
	// Delete deletes Step.Target, which the application owns and no longer needs.
	Delete Action = "Delete"
)

// Step is one write that may be made now.
type Step struct {
	Action    Action
	Component string
	// Object is the object to apply. After Recreate, a later pass applies it.
	Object Object
	// Target is the live object of the other actions.
	Target Resource
	// Size is the requested size of Grow.
	Size resource.Quantity
	// Optional is true if nothing in the spec depends on Grow: a cluster that refuses it has
	// the current spec all the same.
	Optional bool
	// Replicas is the number of pods of Scale.
	Replicas int32
	// Propagation is the deletion propagation of Recreate and Delete.
	Propagation metav1.DeletionPropagation
	// Selects is the Service that may select the pods of the Deployment that Delete is about, although a
	// cache says otherwise: that is kept then. Usually nil.
	Selects Resource
}

// About returns the object that a step writes.
func (s Step) About() Resource {
	if s.Action == Apply {
		return s.Object.Resource
	}
	return s.Target
}

// Serves reports whether the Service, as it was read, selects the pods of the target.
func (s Step) Serves(service Resource) bool {
	return service != nil && templateHash(service) == templateHash(s.Target)
}

// Former returns the number of pods of the target of Scale.
func (s Step) Former() int32 {
	d, ok := s.Target.(*appsv1.Deployment)
	if !ok {
		return 0
	}
	return valueOr(d.Spec.Replicas, 1)
}

// Input is the input of Decide.
type Input struct {
	// Components are rendered from the current spec, in any order, each object
	// with its hash.
	Components []Component
	Live       Live
	// OwnerUID is the UID of the application.
	OwnerUID types.UID
	// Generation is the generation of the spec.
	Generation int64
	// Conditions are the conditions of the last status.
	Conditions []metav1.Condition
	// Awaited are the objects that a hub is about to write: components that refer to them do not begin before.
	Awaited map[Key]bool
	// Eventual plans all writes to come, as if the dependencies of each component served. Grown
	// plans as if claims had grown that are to grow.
	Eventual, Grown bool
}

// Decision is the observed state, and the steps to take now.
type Decision struct {
	// States are in dependency order.
	States []State
	Steps  []Step
	// Problems keep steps from being taken until a user does something.
	Problems []Problem
	// Rewrites are the StatefulSets whose immutable fields were stored with other values than were applied.
	Rewrites []Rewrite
}

// Decide returns the writes that may be made now, in order: the objects of each component
// once its dependencies serve, and then the deletions of objects that are no longer
// needed. The error is an *OrderError.
func Decide(in Input) (Decision, error) {
	ordered, err := Order(withFallbacks(in.Components, in.Live))
	if err != nil {
		return Decision{}, err
	}
	initialized := meta.FindStatusCondition(in.Conditions, v1.ConditionInitialized)
	p := planner{
		in:          in,
		initialized: initialized != nil && initialized.Status == metav1.ConditionTrue,
		serving:     make(map[string]bool, len(ordered)),
		cutovers:    make(map[string]*cutover),
	}
	p.settled = p.initialized && initialized.ObservedGeneration == in.Generation
	for _, c := range ordered {
		p.component(c)
	}
	p.prune(ordered)
	return p.decision, nil
}

type planner struct {
	in Input
	// initialized is true if the application has been ready, settled if it has been ready
	// with this spec: what is missing now existed before.
	initialized, settled bool
	serving              map[string]bool
	// cutovers has the cutovers of components by the name of the component.
	cutovers map[string]*cutover
	decision Decision
}

// component adds the state of a component, and its steps. Its dependencies must have been
// added before.
func (p *planner) component(c Component) {
	state := Observe(c, p.in.Live, p.initialized)
	if pending := cutoverOf(c, p.in.Live); pending != nil && !p.in.Eventual {
		p.cutovers[c.Name] = pending
	}
	waiting := p.waitingFor(c)
	started := p.started(c)
	changed := p.versionChanged(c)
	if !c.Disabled && len(waiting) > 0 && (!started || changed) {
		state.Ready, state.Serving, state.Growing, state.Timed = false, false, false, false
		state.Reason = v1.ReasonWaitingForDependency
		state.Message = "waiting for " + strings.Join(waiting, " and ")
		state.Phase = v1.PhaseUpdating
		if !started {
			state.Phase = v1.PhasePending
		}
	}
	p.serving[c.Name] = state.Ready || state.Serving || state.Growing
	p.decision.States = append(p.decision.States, state)
	if c.Disabled || len(waiting) > 0 && !started {
		return
	}
	for _, object := range c.Objects {
		if len(waiting) > 0 && changed && !c.Stopped && IsWorkload(object.Resource) {
			continue
		}
		p.object(c.Name, p.cutovers[c.Name].intent(object, p.in.Live))
	}
	if step, ok := p.cutovers[c.Name].scale(c.Name); ok {
		p.add(step)
	}
}

// object adds the steps of one object.
func (p *planner) object(component string, object Object) {
	exists := p.in.Live[KeyOf(object.Resource)]
	want, ok := object.Resource.(*appsv1.StatefulSet)
	if !ok || object.Once {
		if problem, ok := deletedDumps(component, object.Resource, exists); ok {
			p.decision.Problems = append(p.decision.Problems, problem)
		}
		p.add(Step{Action: Apply, Component: component, Object: object})
		p.grow(component, retainedToGrow(object.Resource, p.in.Live))
		return
	}
	if p.holdsClaims(component, want, exists) {
		return
	}
	small := claimsToGrow(want, p.in.Live)
	p.grow(component, small)
	if p.in.Grown {
		small = nil
	}
	live, _ := exists.(*appsv1.StatefulSet)
	if live == nil || live.DeletionTimestamp != nil || !ControlledBy(live, p.in.OwnerUID) {
		p.add(Step{Action: Apply, Component: component, Object: object})
		return
	}
	if rewrite, ok := storedFixed(want, live); ok {
		p.decision.Rewrites = append(p.decision.Rewrites, rewrite)
	}
	object.Resource = keepTemplates(want, live, small)
	want, _ = object.Resource.(*appsv1.StatefulSet)
	field := Immutable(want, live)
	if field != "" && object.KeepsTemplate() {
		object.Resource, field = keepStored(want, live), ""
	}
	if field == "" {
		p.add(Step{Action: Apply, Component: component, Object: object})
		return
	}
	// The new set adopts the orphaned pods, unless its selector does not match them: they
	// would then block the names of its own pods.
	policy := metav1.DeletePropagationOrphan
	if field == "selector" {
		policy = metav1.DeletePropagationForeground
	}
	p.add(Step{Action: Recreate, Component: component, Object: object, Target: live, Propagation: policy})
}

// grow adds the steps that expand claims of a component.
func (p *planner) grow(component string, steps []Step) {
	for _, step := range steps {
		step.Component = component
		p.add(step)
	}
}

func (p *planner) add(s Step) { p.decision.Steps = append(p.decision.Steps, s) }

// waitingFor returns the dependencies of a component that do not serve, and the awaited objects that it refers to.
func (p *planner) waitingFor(c Component) []string {
	if p.in.Eventual {
		return nil
	}
	var names []string
	for _, name := range c.DependsOn {
		if serving, known := p.serving[name]; known && !serving {
			names = append(names, name)
		}
	}
	for _, key := range c.References {
		if p.in.Awaited[key] {
			names = append(names, key.Kind+" "+key.Name)
		}
	}
	return names
}

// started reports whether a component was rolled out before, so that missing objects are
// recreated immediately.
func (p *planner) started(c Component) bool {
	if p.settled {
		return true
	}
	exists := 0
	for _, object := range c.Objects {
		if p.cutovers[c.Name].replaces(object.Resource, p.in.Live) != nil && !object.Retain {
			exists++
		} else if IsWorkload(object.Resource) {
			return false
		}
	}
	return exists > 0
}

// versionChanged reports whether the images of a component's workloads change. Images that
// another client changed are repaired, which waits for nothing.
func (p *planner) versionChanged(c Component) bool {
	return slices.ContainsFunc(c.Objects, func(object Object) bool {
		exists := p.cutovers[c.Name].replaces(object.Resource, p.in.Live)
		if exists != nil && current(object.Resource, exists) {
			return false
		}
		want, live := templateOf(object.Resource), templateOf(exists)
		return want != nil && live != nil && !sameImages(half{object: object.Resource, template: *want}, half{object: exists, template: *live})
	})
}

// prune adds the deletion of owned objects that are no longer needed, dependents first.
func (p *planner) prune(ordered []Component) {
	wanted := make(map[Key]bool)
	position := make(map[string]int, len(ordered))
	for i, c := range ordered {
		position[c.Name] = i + 1
		for _, object := range c.Objects {
			wanted[KeyOf(object.Resource)] = true
		}
	}
	var unwanted []Key
	for key, exists := range p.in.Live {
		if !wanted[key] && exists.GetDeletionTimestamp() == nil && ControlledBy(exists, p.in.OwnerUID) &&
			!p.isRead(exists) && !p.isNamed(exists) && !p.cutovers[exists.GetLabels()[v1.ComponentLabel]].keeps(exists) {
			unwanted = append(unwanted, key)
		}
	}
	place := func(key Key) int { return position[p.in.Live[key].GetLabels()[v1.ComponentLabel]] }
	slices.SortFunc(unwanted, func(a, b Key) int {
		if d := place(b) - place(a); d != 0 {
			return d
		}
		return compareKeys(a, b)
	})
	for _, key := range unwanted {
		exists := p.in.Live[key]
		step := deletion(exists.GetLabels()[v1.ComponentLabel], exists)
		if pending := p.cutovers[step.Component]; pending != nil && IsWorkload(exists) {
			step.Selects = pending.service
		}
		p.add(step)
	}
}

// isRead reports whether pods that are to be replaced may read a ConfigMap when they restart. The pods of
// its component may, until the component is ready with the desired spec.
func (p *planner) isRead(exists Resource) bool {
	_, ok := exists.(*corev1.ConfigMap)
	return ok && !p.in.Eventual && slices.ContainsFunc(p.decision.States, func(s State) bool {
		return s.Name == exists.GetLabels()[v1.ComponentLabel] && !s.Ready
	})
}

// deletion returns the step that deletes an object. Workloads are deleted in the
// foreground, so that no pod remains once they are gone.
func deletion(component string, exists Resource) Step {
	policy := metav1.DeletePropagationBackground
	if IsWorkload(exists) {
		policy = metav1.DeletePropagationForeground
	}
	return Step{Action: Delete, Component: component, Target: exists, Propagation: policy}
}

// ControlledBy reports whether the controller reference of an object has the UID.
// Retained objects have no controller, and pods belong to workloads whatever theirs says.
func ControlledBy(r Resource, owner types.UID) bool {
	controller := metav1.GetControllerOf(r)
	return controller != nil && controller.UID == owner && !isPod(r)
}

// IsWorkload reports whether an object is a Deployment or a StatefulSet.
func IsWorkload(r Resource) bool {
	switch r.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet:
		return true
	default:
		return false
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sortedKeys returns the keys of live objects in order.
func sortedKeys(live Live) []Key {
	return slices.SortedFunc(maps.Keys(live), compareKeys)
}
