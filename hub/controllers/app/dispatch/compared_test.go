package dispatch

import (
	"testing"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/hub/members/runner"
)

func TestUncompared(t *testing.T) {
	t.Parallel()
	d := New(nil, Options{})
	engage := func(name string) *MemberQueue {
		m := &MemberQueue{name: name, reports: newReports(), lookups: newLookups()}
		d.Runner.Engage(t.Context(), multicluster.ClusterName(name), runner.Engagement[*MemberQueue]{Value: m})
		return m
	}
	app := shop(2, 2, "a", "b")
	expect := func(when, want string) {
		t.Helper()
		if got := d.Uncompared(app); got != want {
			t.Errorf("%s: %q is not compared, want %q", when, got, want)
		}
	}
	compare := func(m *MemberQueue, r report) {
		m.reports.begin(key())
		m.reports.end(key(), &r)
	}
	a := engage("a")
	expect("without a report", "a")
	compare(a, report{app: "u-0"})
	expect("with a report about another application", "a")
	compare(a, report{app: "u-1", failure: &aggregate.Failure{}})
	expect("after a failure", "a")
	compare(a, report{app: "u-1", unknown: "u-1/3"})
	expect("with a copy of a later generation", "a")
	compare(a, report{app: "u-1"})
	expect("without a connection to the other", "b")
	b := engage("b")
	compare(b, report{app: "u-1"})
	expect("with both", "")
	compare(b, report{app: "u-1", failure: &aggregate.Failure{}})
	app.Generation = 3
	expect("after an edit that failed", "")
	app.Generation = 2
	expect("with an older state of the hub", "b")
	compare(b, report{app: "u-1"})
	expect("with both again", "")
	app.UID = "u-2"
	expect("created again", "a")
	app.UID = "u-1"
	d.Forget(key())
	compare(a, report{app: "u-1", failure: &aggregate.Failure{}})
	expect("forgotten", "a")
}
