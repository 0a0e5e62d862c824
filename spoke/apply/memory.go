package apply

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// writeRecord records a write until the cache contains its result.
type writeRecord struct {
	// intent is the hash of what was written.
	intent string
	// over is the resource version that was replaced; empty if the object did not exist. A
	// cache that still has it does not contain the write yet.
	over string
	// answer holds the object as the API server stored it, or its metadata if the cache does not keep
	// its content either. It is hashed only if that is asked for.
	answer component.Resource
	// created is when an object was created that did not exist; zero otherwise.
	created time.Time
}

// done reports whether an intent was written already, and the cache does not contain the
// write yet or the API server stored something else.
func (a *Applier) done(key component.Key, sum string, live component.Resource) (bool, error) {
	a.mu.Lock()
	last, ok := a.written[key]
	a.mu.Unlock()
	if !ok || last.intent != sum {
		return false, nil
	}
	if last.over == live.GetResourceVersion() {
		return true, nil
	}
	stored, err := a.resultHash(last.answer)
	if err != nil {
		return false, err
	}
	now, err := a.resultHash(live)
	return now == stored, err
}

// remember records a write.
func (a *Applier) remember(w writeRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[component.KeyOf(w.answer)] = w
}

// wrote reports whether a write is remembered: a cache without the object may be behind it.
func (a *Applier) wrote(key component.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.written[key]
	return ok
}

// expected returns the time for which an object is still expected to appear in the cache, because it was
// created from the same intent a moment ago; 0 if it is not. What is generated is no part of the hash.
func (a *Applier) expected(intent component.Resource, req Request) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.written[component.KeyOf(intent)]
	if !ok || req.Uncached || component.SpecHash(last.answer) != component.SpecHash(intent) {
		return 0
	}
	return max(req.ExpectFor-a.clock.Since(last.created), 0)
}

func (a *Applier) forget(key component.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.written, key)
	if len(a.written) == 0 { // A map stays as large as it was.
		a.written = make(map[component.Key]writeRecord)
	}
}

// resultHash hashes the content of an object after converting it to its Go type if the
// scheme has one, so that typed objects from a cache and responses have the same hash.
func (a *Applier) resultHash(r component.Resource) (string, error) {
	gvk, err := a.client.GroupVersionKindFor(r)
	if err != nil {
		return "", fmt.Errorf("finding the kind of %T %q: %w", r, r.GetName(), err)
	}
	if u, ok := r.(*unstructured.Unstructured); ok && a.client.Scheme().Recognizes(gvk) {
		typed, err := a.client.Scheme().New(gvk)
		if err != nil {
			return "", fmt.Errorf("creating a %s: %w", gvk.Kind, err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return "", fmt.Errorf("converting %s %q: %w", gvk.Kind, r.GetName(), err)
		}
		if resource, ok := typed.(component.Resource); ok {
			r = resource
		}
	}
	content, err := contentOf(r)
	if err != nil {
		return "", err
	}
	delete(content, "apiVersion")
	delete(content, "kind")
	// With the hash annotation: a client that removes it changes the object.
	return digest(content)
}
