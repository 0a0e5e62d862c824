package fakemembers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// keptEvents is how many changes of a resource a watch may be behind.
const keptEvents = 256

// object is one version of an object. It is immutable.
type object struct {
	namespace, name string
	uid             types.UID
	version         int64
	labels          labels.Set
	owners          []types.UID
	// raw is the object as JSON.
	raw []byte

	encoding sync.Once
	protobuf []byte
}

func (o *object) key() string { return o.namespace + "/" + o.name }

// decode returns the object for changes.
func (o *object) decode() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.raw); err != nil {
		return nil, fmt.Errorf("decoding %q: %w", o.key(), err)
	}
	return u, nil
}

// change is an entry of the log of a collection: an object as it was and as it is. A deletion has the
// last version of the object.
type change struct {
	kind      watch.EventType
	old, next *object
}

// collection holds the objects of a resource, and its last changes.
type collection struct {
	servedKind
	objects map[string]*object
	log     []change
	// forgotten is the version of the last change that was dropped from the log.
	forgotten int64
	// changed is closed at the next change, and replaced.
	changed chan struct{}
}

// sorted returns the objects of a namespace, or all if that is empty, by name.
func (c *collection) sorted(namespace string) []*object {
	var all []*object
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		if o := c.objects[key]; namespace == "" || o.namespace == namespace {
			all = append(all, o)
		}
	}
	return all
}

// store holds the objects of a member. Its methods are called with mu held.
type store struct {
	clock clock.PassiveClock

	mu          sync.Mutex
	version     int64
	collections map[schema.GroupResource]*collection
}

func newStore(c clock.PassiveClock) *store {
	// The hub creates missing objects with version 1, which no object must have.
	s := &store{clock: c, version: 1000, collections: map[schema.GroupResource]*collection{}}
	for _, r := range builtin() {
		s.serve(r)
	}
	return s
}

// serve adds a resource, unless it is served.
func (s *store) serve(r servedKind) {
	if s.collections[r.groupResource()] == nil {
		s.collections[r.groupResource()] = &collection{servedKind: r, objects: map[string]*object{}, changed: make(chan struct{})}
	}
}

// of returns the collection of a resource that is always served.
func (s *store) of(group, plural string) *collection {
	return s.collections[schema.GroupResource{Group: group, Resource: plural}]
}

// put stores the next version of an object.
func (s *store) put(c *collection, u *unstructured.Unstructured) (*object, error) {
	s.version++
	u.SetResourceVersion(strconv.FormatInt(s.version, 10))
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", c.Kind, u.GetName(), err)
	}
	next := &object{
		namespace: u.GetNamespace(), name: u.GetName(), uid: u.GetUID(), version: s.version, labels: u.GetLabels(), raw: raw,
	}
	for _, owner := range u.GetOwnerReferences() {
		next.owners = append(next.owners, owner.UID)
	}
	kind, old := watch.Added, c.objects[next.key()]
	if old != nil {
		kind = watch.Modified
	}
	c.objects[next.key()] = next
	c.note(change{kind: kind, old: old, next: next})
	return next, nil
}

// remove removes an object, and then those that it is the last owner of.
func (s *store) remove(c *collection, o *object) error {
	u, err := o.decode()
	if err != nil {
		return err
	}
	last, err := s.put(c, u) // A deletion has a version of its own.
	if err != nil {
		return err
	}
	c.log = c.log[:len(c.log)-1]
	delete(c.objects, o.key())
	c.note(change{kind: watch.Deleted, old: o, next: last})
	return s.collect(o.uid)
}

// collect deletes the objects of which an owner that is gone was the last.
func (s *store) collect(gone types.UID) error {
	for _, c := range s.collections {
		for _, o := range c.sorted("") {
			if !slices.Contains(o.owners, gone) || slices.ContainsFunc(o.owners, s.exists) {
				continue
			}
			if err := s.terminate(c, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// exists reports whether an object has the UID.
func (s *store) exists(uid types.UID) bool {
	for _, c := range s.collections {
		for _, o := range c.objects {
			if o.uid == uid {
				return true
			}
		}
	}
	return false
}

// terminate removes an object without finalizers, and marks another one as being deleted.
func (s *store) terminate(c *collection, o *object) error {
	u, err := o.decode()
	if err != nil {
		return err
	}
	switch {
	case len(u.GetFinalizers()) == 0:
		return s.remove(c, o)
	case u.GetDeletionTimestamp() != nil:
		return nil
	}
	now := s.now()
	u.SetDeletionTimestamp(&now)
	_, err = s.put(c, u)
	return err
}

// note appends a change to the log and wakes the watches.
func (c *collection) note(entry change) {
	c.log = append(c.log, entry)
	if extra := len(c.log) - keptEvents; extra > 0 {
		c.forgotten = c.log[extra-1].next.version
		c.log = slices.Delete(c.log, 0, extra)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// since returns the changes after a version, and false if the log no longer has all of them.
func (c *collection) since(version int64) ([]change, bool) {
	i, _ := slices.BinarySearchFunc(c.log, version+1, func(e change, v int64) int { return int(e.next.version - v) })
	return slices.Clone(c.log[i:]), version >= c.forgotten
}

// isIn reports whether an object belongs to what a list or watch selects.
func (o *object) isIn(q query) bool {
	return o != nil && (q.namespace == "" || o.namespace == q.namespace) && (q.name == "" || o.name == q.name) && q.labels.Matches(o.labels)
}

// query selects objects of a collection.
type query struct {
	namespace, name string
	labels          labels.Selector
}

// fieldSelector adds the selectors of metadata.name and metadata.namespace to a query.
func (q *query) fieldSelector(text string) {
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "metadata.name":
			q.name = strings.TrimPrefix(value, "=")
		case "metadata.namespace":
			q.namespace = strings.TrimPrefix(value, "=")
		}
	}
}
