package overrides

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// FuzzEffective applies two arbitrary patches: the result is a spec as a copy has it, or an error, and
// what was given stays as it is.
func FuzzEffective(f *testing.F) {
	for _, op := range []string{"add", "remove", "replace", "move", "copy", "test"} {
		f.Add(op, "/backend/port", "/backend", "80", op, "/frontend/env/0", "/image", `{"name":"A"}`)
		f.Add(op, "/a/~0~1", "/frontend/env/-", "null", op, "/", "//", `[[{}]]`)
		f.Add(op, "", "", "", op, "/database/storage", "/database", "{")
	}
	f.Fuzz(func(t *testing.T, op1, path1, from1, value1, op2, path2, from2, value2 string) {
		first, second := operation(op1, path1, value1), operation(op2, path2, value2)
		first.From, second.From = from1, from2
		given := spec()
		given.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
		given.Overrides = []v1.Override{patched(first, second)}
		before, of := given.DeepCopy(), member()
		got, err := Effective(&given, of)
		if diff := cmp.Diff(before, &given); diff != "" {
			t.Fatalf("the spec was changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(member(), of); diff != "" {
			t.Fatalf("the member was changed (-before +after):\n%s", diff)
		}
		if field := shared(&given, &v1.EcommerceAppSpec{Placement: given.Placement, Deletion: given.Deletion, Paused: got.Paused, Database: got.Database}); err == nil && field != "" {
			t.Fatalf("%s differs: %+v", field, got)
		}
	})
}
