package apply

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Outcome is the outcome of an apply.
type Outcome string

// The outcomes.
const (
	// Unchanged means that nothing was written, because nothing differed.
	Unchanged Outcome = "Unchanged"
	// Created means that the object did not exist and was created.
	Created Outcome = "Created"
	// Updated means that the object existed and was written.
	Updated Outcome = "Updated"
	// Terminating means that the object is being deleted, so nothing was written. It can
	// be created after the deletion.
	Terminating Outcome = "Terminating"
	// Held means that the object would be written, and Request.Hold is set.
	Held Outcome = "Held"
	// Expected means that the cache lacks an object that this Applier created less than
	// Request.ExpectFor ago, so nothing was read or written. The caller must apply it again after
	// Result.Wait: it may have been deleted since.
	Expected Outcome = "Expected"
)

// DefaultTimeout is the deadline of each request.
const DefaultTimeout = 10 * time.Second

// Options configure an Applier.
type Options struct {
	// Client is used for writes.
	Client client.Client
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
	// FieldManager is the field manager of all writes.
	FieldManager string
	// Timeout is the deadline of each request; 0 means DefaultTimeout.
	Timeout time.Duration
	// Slim reports whether the cache keeps of the objects of a kind their fingerprint, as
	// Fingerprints.Take sets it, and not their content. Nil means that it does of none.
	Slim func(component.Resource) bool
	// Random is the source of generated secrets, Clock the time source for certificates and expectations.
	// By default they are crypto/rand and the real clock.
	Random io.Reader
	Clock  clock.PassiveClock
	// DryRun means that the client is one of DryRunClient: the API server answers as if it wrote,
	// and stores nothing. The Applier remembers answers, so that it serves one pass over objects.
	DryRun bool
}

// Applier writes to one cluster. It is safe for concurrent use, but callers must not
// write the same object concurrently.
type Applier struct {
	client  client.Client
	reader  client.Reader
	manager string
	timeout time.Duration
	slim    func(component.Resource) bool
	random  io.Reader
	clock   clock.PassiveClock
	dryRun  bool

	fingerprints *Fingerprints
	seed         maphash.Seed

	// mu guards all that is remembered of objects.
	mu sync.Mutex
	// matches has the match of an object by a hash of its key.
	matches   map[uint64]match
	written   map[component.Key]writeRecord
	rewritten map[component.Key]rewritten
	// futile has the last patch that changed nothing, by the UID of its object.
	futile  map[types.UID]string
	repairs repairs
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
	if o.Slim == nil {
		o.Slim = func(component.Resource) bool { return false }
	}
	return &Applier{
		client: o.Client, reader: o.Reader, manager: o.FieldManager, timeout: o.Timeout, slim: o.Slim,
		random: o.Random, clock: o.Clock, dryRun: o.DryRun, fingerprints: NewFingerprints(), seed: maphash.MakeSeed(),
		matches: make(map[uint64]match),
		written: make(map[component.Key]writeRecord), rewritten: make(map[component.Key]rewritten),
		futile:  make(map[types.UID]string),
		repairs: repairs{objects: make(map[component.Key]*repairedObject)},
	}
}

// Request is one object to apply.
type Request struct {
	// Intent is the desired object. Its hash annotation is added unless Stamp did.
	Intent component.Resource
	// Content is the content of the intent, as Stamp returned it: Apply may change it. Nil if it is not known.
	Content map[string]any
	// Live is the object in the cache; nil if it has none.
	Live component.Resource
	// Uncached means that no cache has objects of this kind, so that one without Live is read
	// before anything is written.
	Uncached bool
	// Once leaves an existing owned object unchanged, unless it lost its labels or its
	// controller reference: those are restored, and its data stays.
	Once bool
	// Owned reports whether an existing object is owned by the application.
	Owned func(live component.Resource) bool
	// Check returns an error if an existing object that is owned must not be written. May be
	// nil.
	Check func(live component.Resource) error
	// Generate adds generated data to a Secret: missing keys, and a certificate that is
	// missing or about to expire. Usually nil.
	Generate *component.Generate
	// RequiredByClaim is the name of a claim whose data depends on this Secret: if the Secret is
	// missing, Apply returns a *LostError. Usually empty.
	RequiredByClaim string
	// StartReplicas is the number of replicas with which a Deployment starts that has none, if the intent
	// leaves the number to an autoscaler: that does not scale a workload with none.
	StartReplicas int32
	// Again applies an object once more that the API server stored otherwise than it was applied.
	Again bool
	// KeepTemplate leaves a workload the pod template that was applied to it last: that of the intent is not written,
	// and only what else differs is. Instead is applied in place of the intent if the template cannot stay, because
	// others changed it or the workload is missing; nil for one that then stays as it is.
	KeepTemplate bool
	Instead      component.Resource
	// Hold makes Apply write nothing, and return what it would write in Result.Change.
	Hold bool
	// ExpectFor is the time for which an object that was created from the same intent is expected to
	// appear in the cache, and is not read; 0 if the cache counts at once.
	ExpectFor time.Duration
}

// Result is the result of an apply.
type Result struct {
	Outcome Outcome
	// Object is the object that the API server returned; nil if nothing was written, or the cache
	// does not keep its content.
	Object *unstructured.Unstructured
	// Change describes a write that was held or a dry run; nil for other outcomes.
	Change *v1.PendingChange
	// Wait is the time until the object is no longer expected; 0 for outcomes other than Expected.
	Wait time.Duration
}

// Apply creates or updates an object to match the intent, and sends no request if the object in the
// cache does.
//
// An object that the cache lacks is created, which changes nothing if the API server has it: after
// that conflict, or if it was written before and is no longer expected (Request.ExpectFor), it is read
// from the API server. An object that the cache has without its content is read before it is compared,
// unless its fingerprint says that it needs no write. A write conflicts if anything but the status
// changed since the object was read.
//
// An existing object that is not owned is a *ConflictError, unless it is annotated to be handed over
// and has no controller. A field that another client changes again and again is a *ContendedError.
// Other errors come from the API server.
func (a *Applier) Apply(ctx context.Context, req Request) (Result, error) {
	key := component.KeyOf(req.Intent)
	if req.Again && !req.Hold && a.isRewritten(req.Intent) {
		a.forget(key)
		a.forgetMatch(key)
	}
	if a.isMatched(req) {
		if isSlim(req.Live) {
			a.forget(key) // The cache contains what was written.
		}
		return Result{Outcome: Unchanged}, nil
	}
	if isSlim(req.Live) && a.isBehind(req) {
		return Result{Outcome: Unchanged}, nil
	}
	live, err := a.Whole(ctx, req.Live)
	if err != nil {
		return Result{}, err
	}
	if live == nil {
		if req.Live != nil { // It was read: there is none.
			req.Live, req.ExpectFor = nil, 0
		}
		if req = req.instead(); req.KeepTemplate {
			return Result{Outcome: Unchanged}, nil
		}
		result, found, err := a.applyMissing(ctx, req)
		if err != nil || found == nil {
			return result, err
		}
		live, req.Content = found, nil // applyMissing may have changed the content.
	}
	result, err := a.applyOver(ctx, req, live)
	// While a write is remembered, the object is not known to match.
	if err == nil && result.Outcome == Unchanged && !a.wrote(key) && isRepeatable(req) {
		a.note(live, req.Intent)
	}
	return result, err
}

// instead returns the request that is made if the pod template of a workload cannot stay: the same if there is none.
func (r Request) instead() Request {
	if r.Instead != nil {
		r.Intent, r.Content, r.Instead, r.KeepTemplate = r.Instead, nil, nil, false
	}
	return r
}

// applyOver applies an intent to an object that exists.
func (a *Applier) applyOver(ctx context.Context, req Request, live component.Resource) (Result, error) {
	intent, err := a.intent(req)
	if err != nil {
		return Result{}, err
	}
	adopted, err := adopt(live, intent, req.Owned)
	if err != nil {
		return Result{}, err
	}
	if live.GetDeletionTimestamp() != nil {
		return Result{Outcome: Terminating}, nil
	}
	if req.Check != nil {
		if err := req.Check(live); err != nil {
			return Result{}, err
		}
	}
	if req.KeepTemplate {
		if kept, err := a.keepTemplate(req, live, intent); err != nil || !kept {
			if req = req.instead(); err != nil || req.KeepTemplate {
				return Result{Outcome: Unchanged}, err
			}
			return a.applyOver(ctx, req, live)
		}
	}
	if req.Once && !adopted && !lacksMetadata(live, intent) {
		a.forget(component.KeyOf(intent))
		return Result{Outcome: Unchanged}, nil
	}
	content, err := contentOf(live)
	if err != nil {
		return Result{}, err
	}
	// Typed objects from a cache may lack their kind.
	content["apiVersion"], content["kind"] = intent.GetAPIVersion(), intent.GetKind()
	if err := a.addGenerated(intent, dataOf(content), req.Generate); err != nil {
		return Result{}, err
	}
	if req.Once {
		intent = onlyMissing(intent, content)
	}
	return a.update(ctx, update{intent: intent, live: live, content: content, hold: req.Hold, start: req.StartReplicas})
}

// intent returns the object of a request in the form that is sent: without status, with a hash.
func (a *Applier) intent(req Request) (*unstructured.Unstructured, error) {
	r, content := req.Intent, req.Content
	gvk, err := a.client.GroupVersionKindFor(r)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T %q: %w", r, r.GetName(), err)
	}
	if content == nil {
		if content, err = contentOf(r); err != nil {
			return nil, err
		}
	}
	intent := &unstructured.Unstructured{Object: content}
	intent.SetGroupVersionKind(gvk)
	if intent.GetAnnotations()[v1.SpecHashAnnotation] == "" {
		if _, err := Stamp(intent); err != nil {
			return nil, err
		}
	}
	return intent, nil
}

// get reads an object from the API server. It returns nil if the object does not exist.
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

// send applies an intent, which then holds the response.
func (a *Applier) send(ctx context.Context, intent *unstructured.Unstructured, opts ...client.ApplyOption) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	sent := &sendError{kind: intent.GetKind(), name: intent.GetName()}
	opts = append([]client.ApplyOption{client.FieldOwner(a.manager)}, opts...)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), opts...); err != nil {
		sent.err = err
		return sent
	}
	return nil
}

// Delete deletes an object with the UID and resource version of live; if the object was
// changed or recreated, the API server returns a conflict. A missing object is not an
// error. The policy determines what happens to dependents.
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
	a.forgetMatch(component.KeyOf(target))
	a.forgetRewritten(component.KeyOf(target))
	return nil
}

// lacksMetadata reports whether an owned object lacks labels of the intent, the hash, or the
// controller reference as it is in the intent. A retained object, whose intent has no
// controller, keeps the UID of its first owner.
func lacksMetadata(live component.Resource, intent *unstructured.Unstructured) bool {
	has, wants := metav1.GetControllerOf(live), metav1.GetControllerOf(intent)
	if has != nil && (wants == nil || has.UID != wants.UID) {
		return false
	}
	labels := live.GetLabels()
	for key, value := range intent.GetLabels() {
		if labels[key] != value && (wants != nil || key != v1.OwnerUIDLabel) {
			return true
		}
	}
	return wants != nil && !equality.Semantic.DeepEqual(has, wants) || live.GetAnnotations()[v1.SpecHashAnnotation] == ""
}
