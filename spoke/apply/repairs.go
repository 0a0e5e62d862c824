package apply

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/component"
)

const (
	// repairLimit is how often a field is written again for one intent before another
	// client counts as one that keeps changing it. A person does not edit one field as
	// often within RepairWindow.
	repairLimit = 10
	// RepairWindow is the time between two writes of such a field. The writes of a field are
	// remembered for twice as long.
	RepairWindow = 5 * time.Minute
	// maxAutoscalers bounds the list of the HorizontalPodAutoscalers of a namespace.
	maxAutoscalers = 100
)

// Repairs counts how often something was written again for one intent, and says when it was last.
type Repairs struct {
	Count int
	Last  time.Time
}

// Wait returns the time until it may be written again, where window is RepairWindow, or shorter in tests; 0 if it may be
// now.
func (r Repairs) Wait(now time.Time, window time.Duration) time.Duration {
	if r.Count < repairLimit {
		return 0
	}
	return max(window-now.Sub(r.Last), 0)
}

// Next returns the count after it was written again.
func (r Repairs) Next(now time.Time, window time.Duration) Repairs {
	if now.Sub(r.Last) >= 2*window {
		r.Count = 0
	}
	return Repairs{Count: r.Count + 1, Last: now}
}

// repairs records how often fields of objects were written for the same intent.
type repairs struct {
	objects map[component.Key]*repairedObject
	// sweep is when expired records are removed.
	sweep time.Time
}

// repairedObject is the record of one object.
type repairedObject struct {
	// intent is the hash of what was written. Another intent starts a new record.
	intent string
	fields map[string]Repairs
	last   time.Time
}

// repair is a write of the fields of an object that differ from the intent with the given
// hash.
type repair struct {
	key    component.Key
	intent string
	fields []string
}

// denied returns the fields of a repair, and the time until the first may be written again, if all
// of them were written too often. Otherwise it returns nothing, because a change of another
// field must not wait.
func (r *repairs) denied(next repair, now time.Time) ([]string, time.Duration) {
	object := r.objects[next.key]
	if object == nil || object.intent != next.intent || len(next.fields) == 0 {
		return nil, 0
	}
	wait := RepairWindow
	for _, field := range next.fields {
		if wait = min(wait, object.fields[field].Wait(now, RepairWindow)); wait == 0 {
			return nil, 0
		}
	}
	return next.fields, wait
}

// note records a repair that was made.
func (r *repairs) note(made repair, now time.Time) {
	object := r.objects[made.key]
	if object == nil || object.intent != made.intent {
		object = &repairedObject{intent: made.intent, fields: make(map[string]Repairs, len(made.fields))}
		r.objects[made.key] = object
	}
	object.last = now
	for _, field := range made.fields {
		object.fields[field] = object.fields[field].Next(now, RepairWindow)
	}
}

// expire removes the records of objects that were not repaired for a while, at most once in
// a RepairWindow.
func (r *repairs) expire(now time.Time) {
	if now.Before(r.sweep) {
		return
	}
	r.sweep = now.Add(RepairWindow)
	for key, object := range r.objects {
		if now.Sub(object.last) >= 2*RepairWindow {
			delete(r.objects, key)
		}
	}
}

// admit returns a *ContendedError if another client changes the fields of a repair again
// and again.
func (a *Applier) admit(ctx context.Context, intent *unstructured.Unstructured, next repair) error {
	a.mu.Lock()
	a.repairs.expire(a.clock.Now())
	fields, wait := a.repairs.denied(next, a.clock.Now())
	a.mu.Unlock()
	if len(fields) == 0 {
		return nil
	}
	contended := &ContendedError{Key: next.key, Fields: fields, RetryIn: wait}
	// Cached objects lack their managers.
	live, err := a.get(ctx, intent)
	if err != nil {
		return err
	}
	if live != nil {
		last := a.lastOther(live.GetManagedFields())
		contended.Manager, contended.Scales = last.Manager, last.Subresource == "scale"
	}
	if contended.Scales {
		contended.Autoscaler = a.autoscalerOf(ctx, intent)
	}
	return contended
}

// autoscalerOf returns the name of the first HorizontalPodAutoscaler that scales an object; empty if there is
// none, or if it cannot be read.
func (a *Applier) autoscalerOf(ctx context.Context, target *unstructured.Unstructured) string {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("autoscaling/v2")
	all.SetKind("HorizontalPodAutoscalerList")
	if err := a.reader.List(ctx, all, client.InNamespace(target.GetNamespace()), client.Limit(maxAutoscalers)); err != nil {
		return ""
	}
	for _, autoscaler := range all.Items {
		kind, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", "name")
		if kind == target.GetKind() && name == target.GetName() {
			return autoscaler.GetName()
		}
	}
	return ""
}

// noteRepair records a repair that was made.
func (a *Applier) noteRepair(made repair) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.repairs.note(made, a.clock.Now())
}

// lastOther returns the entry of the field manager that wrote last, apart from this one and from writers
// of the status; a zero one if there is none.
func (a *Applier) lastOther(managers []metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	var last metav1.ManagedFieldsEntry
	for _, m := range managers {
		own := m.Manager == a.manager && m.Operation == metav1.ManagedFieldsOperationApply
		if !own && m.Subresource != "status" && (last.Time == nil || m.Time != nil && !m.Time.Before(last.Time)) {
			last = m
		}
	}
	return last
}

// drifted returns the fields, metadata included, in which a live object differs from an intent.
func drifted(live map[string]any, intent *unstructured.Unstructured) []difference {
	all := fieldDifferences(live, intent.Object)
	have, _ := live["metadata"].(map[string]any)
	want, _ := intent.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
		all = append(all, differences(have[field], want[field], field, "metadata", "metadata."+field)...)
	}
	return all
}
