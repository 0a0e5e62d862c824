package fakemembers

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	errUnsupported = errors.New("not supported by a fake member")
	errChanged     = errors.New("the object has been modified")
	errOther       = errors.New("the UID in the precondition is not that of the object")
)

// write is a request that changes one object. The store is locked while it runs.
type write struct {
	store           *store
	collection      *collection
	namespace, name string
	// subresource is empty or status.
	subresource string
	manager     string
}

func (s *store) now() metav1.Time { return metav1.NewTime(s.clock.Now()).Rfc3339Copy() }

// live returns the stored object; nil if there is none.
func (w *write) live() *object { return w.collection.objects[w.namespace+"/"+w.name] }

func (w *write) notFound() error {
	return apierrors.NewNotFound(w.collection.groupResource(), w.name)
}

func (w *write) conflict(cause error) error {
	return apierrors.NewConflict(w.collection.groupResource(), w.name, cause)
}

// apply applies an intent, and reports whether that created the object.
func (w *write) apply(intent *unstructured.Unstructured, force bool) (*object, bool, error) {
	o := w.live()
	if o == nil {
		if w.subresource != "" {
			return nil, false, w.notFound()
		}
		if intent.GetUID() != "" {
			return nil, false, w.conflict(errOther)
		}
		merged, err := w.applied(w.empty(), intent, force)
		if err != nil {
			return nil, false, err
		}
		created, err := w.insert(merged)
		return created, true, err
	}
	live, err := o.decode()
	if err != nil {
		return nil, false, err
	}
	if err := w.check(live, intent); err != nil {
		return nil, false, err
	}
	merged, err := w.applied(live.DeepCopy(), intent, force)
	if err != nil {
		return nil, false, err
	}
	next, err := w.replace(o, live, merged)
	return next, false, err
}

// empty returns the object that a missing one is merged with.
func (w *write) empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(w.collection.GroupVersionKind)
	u.SetName(w.name)
	if w.collection.namespaced {
		u.SetNamespace(w.namespace)
	}
	return u
}

// check returns a conflict if an intent names another version than the live one.
func (w *write) check(live, intent *unstructured.Unstructured) error {
	switch {
	case intent.GetResourceVersion() != "" && intent.GetResourceVersion() != live.GetResourceVersion():
		return w.conflict(errChanged)
	case intent.GetUID() != "" && intent.GetUID() != live.GetUID():
		return apierrors.NewInvalid(w.collection.GroupKind(), w.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), intent.GetUID(), "field is immutable"),
		})
	}
	return nil
}

// create creates an object.
func (w *write) create(u *unstructured.Unstructured) (*object, error) {
	if w.name = u.GetName(); w.name == "" && u.GetGenerateName() != "" {
		w.name = u.GetGenerateName() + string(uuid.NewUUID())[:8]
		u.SetName(w.name)
	}
	if w.live() != nil {
		return nil, apierrors.NewAlreadyExists(w.collection.groupResource(), w.name)
	}
	managed, err := w.updated(w.empty(), u)
	if err != nil {
		return nil, err
	}
	return w.insert(managed)
}

// insert stores a new object. Its status is the server's.
func (w *write) insert(u *unstructured.Unstructured) (*object, error) {
	if w.collection.namespaced && w.store.of("", "namespaces").objects["/"+w.namespace] == nil {
		return nil, apierrors.NewNotFound(w.store.of("", "namespaces").groupResource(), w.namespace)
	}
	u.SetGroupVersionKind(w.collection.GroupVersionKind)
	u.SetNamespace(w.namespace)
	u.SetUID(uuid.NewUUID())
	u.SetCreationTimestamp(w.store.now())
	u.SetDeletionTimestamp(nil)
	if w.collection.status {
		u.SetGeneration(1)
		unstructured.RemoveNestedField(u.Object, "status")
	}
	stored, err := w.store.put(w.collection, u)
	if err != nil {
		return nil, err
	}
	return stored, w.store.settle(w.collection, u)
}

// patch applies a JSON merge patch.
func (w *write) patch(patch map[string]any) (*object, error) {
	o := w.live()
	if o == nil {
		return nil, w.notFound()
	}
	live, err := o.decode()
	if err != nil {
		return nil, err
	}
	next := live.DeepCopy()
	next.Object = mergePatch(next.Object, patch)
	if err := w.check(live, next); err != nil {
		return nil, err
	}
	w.keep(live, next)
	if next, err = w.updated(live.DeepCopy(), next); err != nil {
		return nil, err
	}
	return w.replace(o, live, next)
}

// keep restores in an object what a write must not change: the status, or everything else.
func (w *write) keep(live, next *unstructured.Unstructured) {
	if !w.collection.status {
		return
	}
	from, to := live, next
	if w.subresource != "" {
		from, to = next.DeepCopy(), live.DeepCopy()
	}
	if status, found := from.Object["status"]; found {
		to.Object["status"] = status
	} else {
		delete(to.Object, "status")
	}
	next.Object = to.Object
}

// replace stores another version of an object, unless it is equal. One that is being deleted goes
// with its last finalizer.
func (w *write) replace(o *object, live, next *unstructured.Unstructured) (*object, error) {
	managers := next.GetManagedFields()
	w.keep(live, next)
	next.SetManagedFields(managers)
	next.SetUID(live.GetUID())
	next.SetResourceVersion(live.GetResourceVersion())
	next.SetGeneration(live.GetGeneration())
	next.SetCreationTimestamp(live.GetCreationTimestamp())
	next.SetDeletionTimestamp(live.GetDeletionTimestamp())
	if equalButTimes(live, next) {
		return o, nil
	}
	spec := w.collection.status && !equality.Semantic.DeepEqual(specOf(live), specOf(next))
	if spec {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	stored, err := w.store.put(w.collection, next)
	if err != nil {
		return nil, err
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		return stored, w.store.remove(w.collection, stored)
	}
	if spec {
		err = w.store.settle(w.collection, next)
	}
	return stored, err
}

// equalButTimes reports whether two versions of an object differ in nothing but the times of
// managed fields.
func equalButTimes(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	same := equality.Semantic.DeepEqual(withoutTimes(a), withoutTimes(b))
	a.SetManagedFields(nil)
	b.SetManagedFields(nil)
	return same && equality.Semantic.DeepEqual(a.Object, b.Object)
}

// specOf returns what the generation of an object counts changes of.
func specOf(u *unstructured.Unstructured) map[string]any {
	spec := make(map[string]any, len(u.Object))
	for key, value := range u.Object {
		if key != "metadata" && key != "status" {
			spec[key] = value
		}
	}
	return spec
}

// remove deletes an object.
func (w *write) remove(options *metav1.DeleteOptions) error {
	o := w.live()
	if o == nil {
		return w.notFound()
	}
	if p := options.Preconditions; p != nil {
		switch {
		case p.UID != nil && *p.UID != o.uid:
			return w.conflict(errOther)
		case p.ResourceVersion != nil && *p.ResourceVersion != fmt.Sprint(o.version):
			return w.conflict(errChanged)
		}
	}
	if options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationOrphan {
		return apierrors.NewBadRequest("orphans: " + errUnsupported.Error())
	}
	return w.store.terminate(w.collection, o)
}
