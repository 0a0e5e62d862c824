package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// eventBound bounds how long an event may take.
const eventBound = 2 * time.Minute

// burstBound bounds how long anything takes in a burst, on a busy machine.
const burstBound = 15 * time.Minute

// request chooses successful requests of an audit log. An empty subresource matches none, and other
// empty fields match all.
type request struct {
	user, verb, resource, subresource, namespace, name string
	code                                               int
}

func (r request) matches(e audit.Event) bool {
	return (r.user == "" || e.User == r.user) && (r.verb == "" || e.Verb == r.verb) && (r.code == 0 || e.Code == r.code) &&
		e.Resource == r.resource && e.Subresource == r.subresource && (r.namespace == "" || e.Namespace == r.namespace) &&
		(r.name == "" || e.Name == r.name) && e.Succeeded()
}

// first returns the first of the requests.
func (r request) first(b *testing.B, log audit.Log) audit.Event {
	b.Helper()
	found := log.Where(r.matches)
	if len(found) == 0 {
		b.Fatalf("the log has no request as %+v:\n%s", r, log)
	}
	return found[0]
}

// span returns the time between the receipt of a request on the hub and the last of the first
// responses to another in all members.
func (f *fixture) span(b *testing.B, from framework.Marks, cause, effect request) time.Duration {
	b.Helper()
	began := cause.first(b, from.Since(b, f.hub.Cluster)).Received
	var took time.Duration
	for _, m := range f.members {
		// A watch may tell of a write before the log has it.
		within(b, "the log of "+m.Name(), func() (bool, string) {
			return len(from.Since(b, m.Cluster).Where(effect.matches)) > 0, fmt.Sprintf("it has no request as %+v", effect)
		})
		took = max(took, effect.first(b, from.Since(b, m.Cluster)).Completed.Sub(began))
	}
	return took
}

// await begins to watch objects, and returns a function that blocks until one of them, which is new
// or changes, is as check says.
func (c *cluster) await(b *testing.B, what schema.GroupVersionResource, namespace string, check func(*unstructured.Unstructured) bool) (done func()) {
	b.Helper()
	client, err := dynamic.NewForConfig(c.AdminConfig())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), eventBound)
	events, err := client.Resource(what).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	found := make(chan error, 1)
	go func() {
		defer cancel()
		for event := range events.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok && check(object) {
				found <- nil
				return
			}
		}
		found <- fmt.Errorf("no %s in %s of %s is as wanted: %w", what.Resource, namespace, c.Name(), context.Cause(ctx))
	}()
	return func() {
		b.Helper()
		if err := <-found; err != nil {
			b.Fatal(err)
		}
	}
}

// awaitCopies begins to watch all members, and returns a function that blocks until each has a copy as
// check says.
func (f *fixture) awaitCopies(b *testing.B, what schema.GroupVersionResource, namespace string, check func(*unstructured.Unstructured) bool) (done func()) {
	b.Helper()
	var waits []func()
	for _, m := range f.members {
		waits = append(waits, m.await(b, what, namespace, check))
	}
	return func() {
		b.Helper()
		for _, wait := range waits {
			wait()
		}
	}
}

// within blocks until a check is done. The check says how far it is.
func within(b *testing.B, what string, check func() (done bool, state string)) {
	b.Helper()
	fleettest.Within(b, burstBound, what, func(context.Context) error {
		if b.Failed() {
			b.FailNow() // What it waits for may never come.
		}
		if done, state := check(); !done {
			return errors.New(state)
		}
		return nil
	})
}

func progress(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
