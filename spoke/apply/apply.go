package apply

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Outcome is what came of an apply.
type Outcome string

// The outcomes.
const (
	// Unchanged means that nothing was written, as there was nothing to write.
	Unchanged Outcome = "Unchanged"
	// Created means that the object was missing and now exists.
	Created Outcome = "Created"
	// Updated means that the object existed and was written.
	Updated Outcome = "Updated"
	// Terminating means that the object is being deleted, so that nothing was
	// written; it can be created once it is gone.
	Terminating Outcome = "Terminating"
)

// DefaultTimeout is the deadline of each request.
const DefaultTimeout = 10 * time.Second

// Options are what an Applier works with.
type Options struct {
	// Client writes.
	Client client.Client
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
	// FieldManager is the manager of the fields that are written.
	FieldManager string
	// Timeout is the deadline of each request; 0 means DefaultTimeout.
	Timeout time.Duration
	// Random is the source of secrets, Clock decides about certificates. They are
	// needed for objects that ask for generated data; the defaults are real.
	Random io.Reader
	Clock  clock.PassiveClock
}

// Applier writes to one cluster. It is safe for concurrent use; two concurrent
// writes of one object are the caller's mistake.
type Applier struct {
	client  client.Client
	reader  client.Reader
	manager string
	timeout time.Duration
	random  io.Reader
	clock   clock.PassiveClock

	mu      sync.Mutex
	written map[component.Key]writing
}

// New returns an Applier.
func New(o Options) *Applier {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Applier{
		client: o.Client, reader: o.Reader, manager: o.FieldManager, timeout: o.Timeout,
		random: o.Random, clock: o.Clock,
		written: make(map[component.Key]writing),
	}
}

// Request is one object to apply.
type Request struct {
	// Intent is all that we say about the object. Its hash annotation is added
	// unless Stamp did.
	Intent component.Resource
	// Live is the object as the cache has it, nil when it has none.
	Live component.Resource
	// Once leaves an object that exists and is ours as it is, unless it lost its
	// labels or its controller: those it gets back, and its data stays.
	Once bool
	// Owned tells whether an object that exists is ours to write.
	Owned func(live component.Resource) bool
	// Generate completes the data of a Secret: keys that it lacks are drawn, and
	// a certificate is made that is missing or spent. Nil for most.
	Generate *component.Generate
	// Seals names a claim with data that was made with this Secret: one that is
	// missing is then a *LostError. Empty for most.
	Seals string
}

// Result is what came of an apply.
type Result struct {
	Outcome Outcome
	// Object is what the server answered; nil unless something was written.
	Object *unstructured.Unstructured
}

// Apply makes the object as the intent says, with no request when it is. A
// missing object is first looked for on the API server; one that exists and is
// not ours is a *ConflictError unless it is annotated to be handed over and
// nothing controls it. Other errors are the API server's.
func (a *Applier) Apply(ctx context.Context, req Request) (Result, error) {
	intent, err := a.intent(req.Intent)
	if err != nil {
		return Result{}, err
	}
	live := req.Live
	if live == nil {
		if live, err = a.get(ctx, intent); err != nil {
			return Result{}, err
		}
	}
	if live == nil && req.Seals != "" {
		return Result{}, &LostError{Key: component.KeyOf(intent), Data: req.Seals}
	}
	if live == nil {
		if err := a.fill(intent, nil, req.Generate); err != nil {
			return Result{}, err
		}
		return a.create(ctx, intent)
	}
	adopted, err := adopt(live, intent, req.Owned)
	if err != nil {
		return Result{}, err
	}
	if live.GetDeletionTimestamp() != nil {
		return Result{Outcome: Terminating}, nil
	}
	if req.Once && !adopted && !stripped(live, intent) {
		return Result{Outcome: Unchanged}, nil
	}
	content, err := contentOf(live)
	if err != nil {
		return Result{}, err
	}
	// Typed objects of a cache may come without their kind.
	content["apiVersion"], content["kind"] = intent.GetAPIVersion(), intent.GetKind()
	if err := a.fill(intent, dataOf(content), req.Generate); err != nil {
		return Result{}, err
	}
	if req.Once {
		intent = onlyMissing(intent, content)
	}
	return a.update(ctx, intent, live, content)
}

// intent converts an intent to what is sent: no status, and a hash.
func (a *Applier) intent(r component.Resource) (*unstructured.Unstructured, error) {
	gvk, err := a.client.GroupVersionKindFor(r)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T %q: %w", r, r.GetName(), err)
	}
	content, err := contentOf(r)
	if err != nil {
		return nil, err
	}
	intent := &unstructured.Unstructured{Object: content}
	intent.SetGroupVersionKind(gvk)
	if intent.GetAnnotations()[v1.SpecHashAnnotation] == "" {
		if err := Stamp(intent); err != nil {
			return nil, err
		}
	}
	return intent, nil
}

// get reads an object from the API server; it is nil when there is none.
func (a *Applier) get(ctx context.Context, intent *unstructured.Unstructured) (component.Resource, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(intent.GroupVersionKind())
	err := a.reader.Get(ctx, client.ObjectKeyFromObject(intent), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	return live, nil
}

// create writes a missing object without force: whoever was quicker keeps it.
func (a *Applier) create(ctx context.Context, intent *unstructured.Unstructured) (Result, error) {
	sum, err := hashOf(intent.Object)
	if err != nil {
		return Result{}, err
	}
	if err := a.send(ctx, intent); err != nil {
		return Result{}, err
	}
	return Result{Outcome: Created, Object: intent}, a.remember(intent, writing{intent: sum})
}

// update writes an object that is ours, when it differs.
func (a *Applier) update(ctx context.Context, intent *unstructured.Unstructured, live component.Resource, content map[string]any) (Result, error) {
	key := component.KeyOf(intent)
	if live.GetAnnotations()[v1.SpecHashAnnotation] == intent.GetAnnotations()[v1.SpecHashAnnotation] &&
		Contains(content, intent.Object) {
		a.forget(key)
		return Result{Outcome: Unchanged}, nil
	}
	sum, err := hashOf(intent.Object)
	if err != nil {
		return Result{}, err
	}
	done, err := a.done(key, sum, live)
	if err != nil {
		return Result{}, err
	}
	if done {
		return Result{Outcome: Unchanged}, nil
	}
	if err := a.handOver(ctx, intent, content); err != nil {
		return Result{}, err
	}
	over := live.GetResourceVersion()
	rejected := intent.DeepCopy()
	err = a.send(ctx, intent, client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		intent, err = a.replace(ctx, rejected, over, err)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Outcome: Updated, Object: intent}, a.remember(intent, writing{intent: sum, over: over})
}

// send applies an intent, which then holds what the server answered.
func (a *Applier) send(ctx context.Context, intent *unstructured.Unstructured, opts ...client.ApplyOption) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	kind, name := intent.GetKind(), intent.GetName()
	opts = append([]client.ApplyOption{client.FieldOwner(a.manager)}, opts...)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), opts...); err != nil {
		return fmt.Errorf("applying %s %q: %w", kind, name, err)
	}
	return nil
}

// replace writes an intent that the API server rejected as it was applied. What
// others added to a list may be in the way of our own items, for example a port
// of the same name; an apply would keep it, while a merge patch puts our lists
// in place of what is there. The object must be the one that was seen. A second
// rejection is the first one's error.
func (a *Applier) replace(ctx context.Context, intent *unstructured.Unstructured, version string, rejection error) (*unstructured.Unstructured, error) {
	body := intent.DeepCopy()
	// Other owners are nobody's mistake.
	body.SetOwnerReferences(nil)
	body.SetFinalizers(nil)
	body.SetResourceVersion(version)
	raw, err := body.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err = a.client.Patch(ctx, body, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(a.manager))
	if apierrors.IsInvalid(err) {
		return nil, rejection
	}
	if err != nil {
		return nil, fmt.Errorf("replacing %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	return body, nil
}

// Delete deletes an object as it was seen: one that was made anew or changed
// since then is a conflict of the API server. A missing object is no error. The
// policy says what becomes of the object's dependents.
func (a *Applier) Delete(ctx context.Context, live component.Resource, policy metav1.DeletionPropagation) error {
	gvk, err := a.client.GroupVersionKindFor(live)
	if err != nil {
		return fmt.Errorf("finding the kind of %T %q: %w", live, live.GetName(), err)
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(gvk)
	target.SetNamespace(live.GetNamespace())
	target.SetName(live.GetName())
	uid, version := live.GetUID(), live.GetResourceVersion()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err = a.client.Delete(ctx, target, client.PropagationPolicy(policy),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %q: %w", gvk.Kind, live.GetName(), err)
	}
	a.forget(component.KeyOf(target))
	return nil
}

// stripped tells whether an object of ours lacks labels of the intent, or the
// controller that it should have. One that is to have none outlives its owners, and
// bears the labels of the first.
func stripped(live component.Resource, intent *unstructured.Unstructured) bool {
	has, wants := metav1.GetControllerOf(live), metav1.GetControllerOf(intent)
	if wants == nil || has != nil && has.UID != wants.UID {
		return false
	}
	labels := live.GetLabels()
	for key, value := range intent.GetLabels() {
		if labels[key] != value {
			return true
		}
	}
	return has == nil
}

// adopt tells whether a live object is taken over now. An object that is neither
// ours nor to be handed over is a *ConflictError.
func adopt(live component.Resource, intent *unstructured.Unstructured, owned func(component.Resource) bool) (bool, error) {
	if owned(live) {
		return false, nil
	}
	conflict := &ConflictError{Key: component.KeyOf(intent)}
	if controller := metav1.GetControllerOf(live); controller != nil {
		conflict.Controller = controller.Kind
		return false, conflict
	}
	if live.GetAnnotations()[v1.AdoptAnnotation] != "true" || live.GetDeletionTimestamp() != nil {
		return false, conflict
	}
	return true, nil
}
