package apply

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestDeniedUntilTheFirstField checks that a repair of several contended fields may be made when one of them may be
// written again.
func TestDeniedUntilTheFirstField(t *testing.T) {
	t.Parallel()
	began := time.Unix(1e9, 0)
	r := &repairs{objects: map[component.Key]*repairedObject{}}
	for range repairLimit {
		r.note(repair{fields: []string{"x"}}, began)
		r.note(repair{fields: []string{"y"}}, began.Add(2*time.Minute))
	}
	fields, wait := r.denied(repair{fields: []string{"x", "y"}}, began.Add(3*time.Minute))
	if len(fields) != 2 || wait != RepairWindow-3*time.Minute {
		t.Errorf("%v wait %s, want what x waits", fields, wait)
	}
	if fields, wait = r.denied(repair{fields: []string{"x", "z"}}, began.Add(3*time.Minute)); fields != nil {
		t.Errorf("%v wait %s although z may be written", fields, wait)
	}
}
