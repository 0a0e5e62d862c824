package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counts is why a controller may count the conflicts of its requests.
const counts = "a count ends with the first attempt without a conflict"

// applies is why the queue of a member may have an applier.
const applies = "an applier remembers what it wrote of an object, until the cache of the member has it"

// memories returns the types outside of hub/app/state that hold something by the key of an object, with the reason.
func memories() map[string]string {
	return map[string]string{
		"hub/app/copies/member_queue.go MemberQueue":            applies,
		"hub/app/propagate/member_queue.go Member":              applies,
		"hub/data/backup/scheduler/metrics.go Metrics":          "series are computed when they are read, of what was decided last, until the application is gone",
		"hub/data/backup/scheduler/reconciler.go Reconciler":    counts,
		"hub/data/backup/reconciler.go Reconciler":              counts,
		"hub/data/restore/reconciler.go Reconciler":             counts,
		"hub/data/rediscover/reconciler.go Reconciler":          counts,
		"hub/data/storageclasses/storage.go member":             counts,
		"hub/data/accounts/controller/reconciler.go Reconciler": counts,
		"hub/members/controller/reconciler.go Reconciler":       counts,
	}
}

// TestMemory checks that what the hub remembers of applications is in one place: but for those that are listed, no type in
// hub/app has a field that is a lock, a map by an object's key or an applier, and none elsewhere in hub one of the latter two.
func TestMemory(t *testing.T) {
	var found []string
	for _, f := range listFiles(t) {
		if !f.isGo() || f.isTest() || !strings.HasPrefix(f.path, "hub/") || strings.HasPrefix(f.path, "hub/app/state/") {
			continue
		}
		kind := byKey
		if strings.HasPrefix(f.path, "hub/app/") {
			kind = remembers
		}
		names, err := remembering(f, kind)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	slices.Sort(found)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(memories())), found); diff != "" {
		t.Errorf("remember applications in hub/app/state; types elsewhere that remember (-want +got):\n%s", diff)
	}
}

// remembering returns the struct types of a file with a field of a kind.
func remembering(f file, kind func(field ast.Expr) bool) ([]string, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", f.path, err)
	}
	var names []string
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if fields, ok := spec.Type.(*ast.StructType); ok && slices.ContainsFunc(fields.Fields.List, func(field *ast.Field) bool { return kind(field.Type) }) {
			names = append(names, f.path+" "+spec.Name.Name)
		}
		return true
	})
	return names, nil
}

// remembers reports whether a field of a type holds state that its methods share.
func remembers(field ast.Expr) bool {
	if generic, ok := field.(*ast.IndexExpr); ok {
		field = generic.X
	}
	e, ok := field.(*ast.SelectorExpr)
	return byKey(field) || ok && (isPackage(e.X, "sync") || isPackage(e.X, "atomic"))
}

// byKey reports whether a field of a type is a map, a count or an applier, which has maps, by the key of an object.
func byKey(field ast.Expr) bool {
	if e, ok := field.(*ast.MapType); ok {
		return isSelector(e.Key, "types", "NamespacedName") || isSelector(e.Key, "client", "ObjectKey") ||
			isSelector(e.Key, "types", "UID") || isSelector(e.Key, "reconcile", "Request")
	}
	if pointer, ok := field.(*ast.StarExpr); ok {
		return isSelector(pointer.X, "apply", "Applier")
	}
	return isSelector(field, "retry", "Conflicts")
}

// isSelector reports whether an expression is a name of a package.
func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && isPackage(s.X, pkg) && s.Sel.Name == name
}

// TestRemembers recognises memory.
func TestRemembers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		field       string
		want, byKey bool
	}{
		"a lock":                 {"mu sync.Mutex", true, false},
		"a map that is safe":     {"known sync.Map", true, false},
		"an atomic value":        {"last atomic.Pointer[int]", true, false},
		"a map by application":   {"known map[types.NamespacedName]int", true, true},
		"a map by its key":       {"known map[client.ObjectKey]int", true, true},
		"a count by application": {"conflicts retry.Conflicts", true, true},
		"an applier":             {"applier *apply.Applier", true, true},
		"a map of facts":         {"shares map[string]int", false, false},
		"a pointer to a store":   {"state *state.State", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := file{path: "a.go", text: "package a\n\ntype T struct {\n\t" + tt.field + "\n}\n"}
			got, err := remembering(f, remembers)
			keyed, failed := remembering(f, byKey)
			if err != nil || failed != nil || len(got) == 1 != tt.want || len(keyed) == 1 != tt.byKey {
				t.Errorf("found %v and, by key, %v, errors %v and %v", got, keyed, err, failed)
			}
		})
	}
}
