package app

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// elsewhere returns a controller that knows applications that run in ten members each, and a member
// that has nothing to do with any and is lost.
func elsewhere(apps int) (*Controller, memberChange) {
	c := New(nil, Options{})
	for i := range apps {
		app := shop(1)
		app.Name = fmt.Sprintf("shop-%d", i)
		for m := range 10 {
			app.Spec.Placement.ClusterNames = append(app.Spec.Placement.ClusterNames, fmt.Sprintf("member-%d", m))
		}
		app.Status = shop(1, app.Spec.Placement.ClusterNames...).Status
		c.apps.set(app)
	}
	return c, lossOf("new")
}

// lossOf returns the change of a member that is lost.
func lossOf(name string) memberChange {
	before, after := member(name, metav1.ConditionTrue, ""), member(name, metav1.ConditionFalse, "")
	return memberChange{before: candidate(&before), after: candidate(&after)}
}

// BenchmarkAffected looks for the applications that one event of a member affects.
func BenchmarkAffected(b *testing.B) {
	c, change := elsewhere(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if requests := c.affected(change); len(requests) > 0 {
			b.Fatal(requests)
		}
	}
}

// BenchmarkAffectedByLoss looks for the applications that the loss of one of 1,000 members affects: the
// ten of 10,000 that are placed there.
func BenchmarkAffectedByLoss(b *testing.B) {
	c := New(nil, Options{})
	for i := range 10_000 {
		name := fmt.Sprintf("member-%d", i%1000)
		app := shop(1, name)
		app.Name, app.Spec.Placement.ClusterNames = fmt.Sprintf("shop-%d", i), []string{name}
		c.apps.set(app)
	}
	change := lossOf("member-7")
	b.ReportAllocs()
	for b.Loop() {
		if requests := c.affected(change); len(requests) != 10 {
			b.Fatal(requests)
		}
	}
}

// TestUnrelatedMemberAllocatesNothing: an event of a member that affects no application costs no
// garbage for each.
func TestUnrelatedMemberAllocatesNothing(t *testing.T) {
	const most = 10 // For all applications.
	c, change := elsewhere(1000)
	found := 0
	allocations := testing.AllocsPerRun(10, func() { found += len(c.affected(change)) })
	if allocations > most || found > 0 {
		t.Errorf("%g allocations, at most %d wanted; %d applications are affected", allocations, most, found)
	}
}
