package bench_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// idleNamespace is that of an application that does not change.
	idleNamespace = "idle"
	// returnBound is how soon a member that responds again must be Ready: the longest pause between
	// two attempts to connect, 15 s, two probes, a list of each kind, and what a busy machine adds.
	returnBound = 45 * time.Second
	// returnRequests bounds the hub's requests to its own API server for each member that returns:
	// the status of the MemberCluster, an event, the status of the idle application, and as many more.
	returnRequests = 6
	// returnReads bounds how often the hub reads the objects of a kind in a member that returns, of all
	// namespaces or of one.
	returnReads = 2
	// pendingWrites bounds the hub's writes of what was changed while a member was lost: the last
	// change, and two that the frozen member had received.
	pendingWrites = 3
)

// measureHalf freezes half of the members and lets them return together (F15). It compares the
// others with themselves while half are lost and while they return, and counts what the return
// costs.
func (i *isolation) measureHalf(b *testing.B) {
	b.Helper()
	lost := append([]string{faulty}, i.measured[:healthy/2]...)
	i.measured = i.measured[healthy/2:]
	before := i.samples(b)
	i.eachMember(b, lost, (*fleet.Cluster).Freeze)
	frozen := i.samples(b)
	i.awaitReady(b, metav1.ConditionFalse, lost)
	marked, pending := i.Mark(b), i.count
	began := time.Now()
	i.eachMember(b, lost, (*fleet.Cluster).Thaw)
	returning := i.samples(b)
	for _, since := range i.awaitReady(b, metav1.ConditionTrue, lost) {
		if took := since.Sub(began); took > returnBound {
			b.Errorf("a member is Ready %s after it returned, want at most %s", took, returnBound)
		}
	}
	i.awaitLast(b, lost)
	i.checkReturn(b, marked, lost, i.count-pending)
	baseline := slices.Concat(before, i.samples(b))
	compare(b, "half-frozen", frozen, baseline)
	compare(b, "half-returning", returning, baseline)
}

// eachMember freezes or thaws members.
func (i *isolation) eachMember(b *testing.B, names []string, do func(*fleet.Cluster, context.Context, ...fleet.Component) error) {
	b.Helper()
	for _, name := range names {
		if err := do(i.Fleet.Member(name), b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// awaitReady waits until the Ready condition of members has a status, and returns since when.
func (i *isolation) awaitReady(b *testing.B, want metav1.ConditionStatus, names []string) (since []time.Time) {
	b.Helper()
	for _, name := range names {
		c := framework.AwaitCondition(b, i.Hub, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.Condition{Type: v1.ConditionReady, Status: want})
		since = append(since, c.LastTransitionTime.Time)
	}
	return since
}

// awaitLast waits until members have the last change.
func (i *isolation) awaitLast(b *testing.B, names []string) {
	b.Helper()
	for _, name := range names {
		copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: i.app.Namespace, Name: i.app.Name}}
		framework.Await(b, i.Members[name], copied, "the last change", func(copied *v1.EcommerceApp) error {
			if got := copied.Annotations[v1.ReconcileAtAnnotation]; got != fmt.Sprint(i.count) {
				return fmt.Errorf("%s has change %s of %d", name, got, i.count)
			}
			return nil
		})
	}
}

// checkReturn checks the hub's requests since members returned: each of them gets the changes and no
// other write, and the hub's own API server a few requests for each.
func (i *isolation) checkReturn(b *testing.B, marked framework.Marks, lost []string, changes int) {
	b.Helper()
	changed := func(e audit.Event) bool { return e.Resource == "ecommerceapps" && e.Namespace == i.app.Namespace }
	for _, name := range lost {
		log := i.Since(b, marked, i.Fleet.Member(name))
		if other := log.Writes().Except("events").Where(func(e audit.Event) bool { return !changed(e) }); len(other) > 0 {
			b.Errorf("%s: writes though nothing else was changed:\n%s", name, other)
		}
		copies := log.Writes().Succeeded().Where(func(e audit.Event) bool { return changed(e) && e.Subresource == "" })
		if most := changes + pendingWrites; len(copies) > most {
			b.Errorf("%s: the copy was written %d times, want at most %d", name, len(copies), most)
		}
		for collection, events := range collections(log) {
			if len(events) > returnReads {
				b.Errorf("%s: %s was read %d times, want at most %d:\n%s", name, collection, len(events), returnReads, events)
			}
		}
	}
	onHub := i.Since(b, marked, i.Fleet.Hub()).Except("leases").Where(func(e audit.Event) bool { return !changed(e) && e.Verb != "watch" })
	if most := returnRequests * len(lost); len(onHub) > most {
		b.Errorf("the hub's own API server had %d requests, want at most %d:\n%s", len(onHub), most, onHub)
	}
}

// collections returns the reads of collections by what they read: all objects of a kind, or those of a
// namespace, such as the pods of one application. Requests that the member received before it was frozen
// fail when it returns, and read nothing.
func collections(log audit.Log) map[string]audit.Log {
	reads := map[string]audit.Log{}
	for _, e := range log.Succeeded().Where(func(e audit.Event) bool { return e.Verb == "list" || e.InitialEvents() }) {
		collection := "all of " + e.Resource
		if e.Namespace != "" {
			collection = e.Resource + " of namespace " + e.Namespace
		}
		reads[collection] = append(reads[collection], e)
	}
	return reads
}

func TestCollections(t *testing.T) {
	t.Parallel()
	list := func(namespace string, code int) audit.Event {
		return audit.Event{Verb: "list", Resource: "pods", Namespace: namespace, Code: code}
	}
	log := audit.Log{
		list("", 200), list("a", 500), list("a", 200), list("b", 200), {Verb: "get", Resource: "pods", Namespace: "a", Code: 200},
		{Verb: "watch", Resource: "pods", URI: "/api/v1/pods?watch=true&sendInitialEvents=true", Code: 200},
		{Verb: "watch", Resource: "pods", URI: "/api/v1/pods?watch=true", Code: 200},
	}
	want := map[string]int{"all of pods": 2, "pods of namespace a": 1, "pods of namespace b": 1}
	got := map[string]int{}
	for collection, events := range collections(log) {
		got[collection] = len(events)
	}
	if !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}
