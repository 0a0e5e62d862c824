package bench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// slowWrite is how long each write to the hub's API server takes.
	slowWrite = 2 * time.Second
	// repairBound is how soon each drift is repaired, with what a busy machine adds.
	repairBound = time.Minute
)

var (
	errNotRepaired = errors.New("the watch has ended before a repair")
	errNotYet      = errors.New("not yet")
)

// measureSlowHub compares the repair of drift in members while each write to the hub's API server takes slowWrite with
// the same before and after. What a member is to have is decided, and must not wait for what the hub writes.
func (i *isolation) measureSlowHub(b *testing.B) {
	b.Helper()
	before := i.repairs(b)
	i.fault = i.hub.Inject(faults.Match{Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}}, faults.Delay(slowWrite))
	during := i.repairs(b)
	i.removeFault(b)
	compare(b, "slow-hub", during, slices.Concat(before, i.repairs(b)))
}

// repairs lets objects drift again and again, and returns the time that each repair took. What the hub writes when the
// objects drift is in turn the status of their application after an edit, and the metadata of another one before its
// copies. Each edit and each drift must be one write in a member.
func (i *isolation) repairs(b *testing.B) []time.Duration {
	b.Helper()
	marked, edits, rounds := i.Mark(b), 0, 0
	var all []time.Duration
	for ; len(all) < number(b, samplesVariable, defaultSamples); rounds++ {
		began := time.Now()
		if rounds%2 == 0 {
			edits++
			i.edit(b)
			i.awaitWrite(b, began, i.app.Namespace, "status")
		} else {
			// A token of its own each time: the last one may not be handled yet.
			i.patch(b, framework.Small(idleNamespace, i.app.Name), `{"metadata":{"annotations":{%q:%q}}}`, v1.ImageUpdatedAnnotation, fmt.Sprint(began.UnixNano()))
			i.awaitWrite(b, began, idleNamespace, "")
		}
		all = append(all, i.drift(b)...)
	}
	for _, name := range i.measured {
		for _, o := range i.drifting() {
			i.checkWrites(b, marked, name, o, edits+rounds)
		}
	}
	return all
}

// drifting is an object of the application in a member, with the field that another hand edits.
type drifting struct {
	kind           schema.GroupVersionKind
	resource, name string
	field          []string
}

// drifting returns the copy, which the hub writes, and an object that is rendered from it. No object is rendered from
// the field of the copy.
func (i *isolation) drifting() []drifting {
	return []drifting{
		{v1.GroupVersion.WithKind("EcommerceApp"), "ecommerceapps", i.app.Name, []string{"spec", "backend", "replicas"}},
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments", i.app.Name + "-frontend", []string{"spec", "replicas"}},
	}
}

// edit changes the image of the application, and blocks until the members have it: repairs begin to be counted anew.
func (i *isolation) edit(b *testing.B) {
	b.Helper()
	i.count++
	image := fmt.Sprintf("shop:v%d", i.count)
	i.patch(b, i.app, `{"spec":{"image":%q}}`, image)
	for _, name := range i.measured {
		frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.app.Namespace, Name: i.app.Name + "-frontend"}}
		framework.Await(b, i.Members[name], frontend, "the image "+image, func(d *appsv1.Deployment) error {
			if d.Spec.Template.Spec.Containers[0].Image != image {
				return errNotYet
			}
			return nil
		})
	}
}

// awaitWrite blocks until a write of an application that was sent after a time waits in the proxy, if the hub's API server is slow.
func (i *isolation) awaitWrite(b *testing.B, since time.Time, namespace, subresource string) {
	b.Helper()
	if i.fault == nil {
		return
	}
	framework.Eventually(b, "a write to the hub in namespace "+namespace, func(context.Context) error {
		if slices.ContainsFunc(i.hub.Journal(), func(e faults.Entry) bool {
			return e.Fault != "" && e.Completed.IsZero() && e.Received.After(since) &&
				e.Resource == "ecommerceapps" && e.Namespace == namespace && e.Subresource == subresource
		}) {
			return nil
		}
		return errNotYet
	})
}

// drift edits the objects in all members that are measured at once, and returns the time until each is repaired.
func (i *isolation) drift(b *testing.B) []time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), repairBound)
	defer cancel()
	objects := i.drifting()
	took, errs := make([]time.Duration, len(i.measured)*len(objects)), make([]error, len(i.measured)*len(objects))
	var group sync.WaitGroup
	for n := range took {
		member, o := i.measured[n/len(objects)], objects[n%len(objects)]
		group.Go(func() {
			if took[n], errs[n] = i.repair(ctx, i.Members[member], o); errs[n] != nil {
				errs[n] = fmt.Errorf("%s of %s: %w", o.resource, member, errs[n])
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	return took
}

// repair edits an object of a member, and returns the time until the edit is taken back.
func (i *isolation) repair(ctx context.Context, member client.WithWatch, o drifting) (time.Duration, error) {
	live, change := &unstructured.Unstructured{}, &unstructured.Unstructured{Object: map[string]any{}}
	for _, each := range []*unstructured.Unstructured{live, change} {
		each.SetGroupVersionKind(o.kind)
	}
	live.SetNamespace(i.app.Namespace)
	live.SetName(o.name)
	if err := unstructured.SetNestedField(change.Object, int64(2), o.field...); err != nil {
		return 0, fmt.Errorf("setting a field: %w", err)
	}
	raw, err := change.MarshalJSON()
	if err != nil {
		return 0, fmt.Errorf("encoding a change: %w", err)
	}
	began := time.Now()
	if err := member.Patch(ctx, live, client.RawPatch(types.MergePatchType, raw)); err != nil {
		return 0, fmt.Errorf("editing: %w", err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(o.kind)
	w, err := member.Watch(ctx, list, client.InNamespace(i.app.Namespace), client.MatchingFields{"metadata.name": o.name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: live.GetResourceVersion()}})
	if err != nil {
		return 0, fmt.Errorf("watching: %w", err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if now, is := event.Object.(*unstructured.Unstructured); is {
			if replicas, _, _ := unstructured.NestedInt64(now.Object, o.field...); replicas == 1 {
				return time.Since(began), nil
			}
		}
	}
	return 0, errNotRepaired
}

// checkWrites checks that an object was written as often in a member since a mark as it was to be.
func (i *isolation) checkWrites(b *testing.B, marked framework.Marks, member string, o drifting, want int) {
	b.Helper()
	writes := func() audit.Log {
		return i.Since(b, marked, i.Fleet.Member(member)).Writes().Succeeded().In(i.app.Namespace).Of(o.resource).
			Where(func(e audit.Event) bool { return e.Subresource == "" && e.Name == o.name })
	}
	framework.Eventually(b, "the log of "+member, func(context.Context) error { // A watch may tell of a write before it is logged.
		if n := len(writes()); n < want {
			return fmt.Errorf("%w: %d of %d writes of %s", errNotYet, n, want, o.resource)
		}
		return nil
	})
	if log := writes(); len(log) > want {
		b.Errorf("%s: %s were written %d times, want %d:\n%s", member, o.resource, len(log), want, log)
	}
}
