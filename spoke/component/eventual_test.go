package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestDecideEventual plans all writes to come, also those that wait for other components and for claims.
func TestDecideEventual(t *testing.T) {
	t.Parallel()
	rest := all()[2:]
	for name, tt := range map[string]struct {
		components []component.Component
		live       component.Live
		grown      bool
		want       []string
	}{
		"nothing exists":       {shop(), live(), true, all()},
		"the database is down": {shop(), with(running(), statefulSet("database", 1, 0)), false, all()},
		"claims are to grow":   {larger("image:1", "image:1"), small(), false, append([]string{all()[0], "grow data-app-database-0 to 20Gi", all()[1]}, rest...)},
		"claims will have grown": {larger("image:1", "image:1"), small(), true, append([]string{
			all()[0], "grow data-app-database-0 to 20Gi", "recreate app-database Orphan",
		}, rest...)},
	} {
		got, err := component.Decide(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 2, Eventual: true, Grown: tt.grown})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, told(got.Steps)); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", name, diff)
		}
	}
}

// TestDeleted returns what the application controls, and nothing that it retains or that is gone soon.
func TestDeleted(t *testing.T) {
	t.Parallel()
	all := with(running(), claim("data-app-database-0", "10Gi", "Bound"))
	var names []string
	for _, exists := range component.Deleted(all, owner) {
		names = append(names, exists.GetObjectKind().GroupVersionKind().Kind+" "+exists.GetName())
		if exists.GetName() == "data-app-database-0" {
			t.Error("a claim is deleted")
		}
	}
	if len(names) < 6 {
		t.Errorf("deleted: %v, want what runs", names)
	}
	if others := component.Deleted(all, "another"); len(others) > 0 {
		t.Errorf("deleted with another application: %d objects", len(others))
	}
}
