package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestMemory checks that what the hub remembers of applications is in one place.
func TestMemory(t *testing.T) {
	var found []string
	for _, f := range listFiles(t) {
		if !f.isGo() || f.isTest() || !strings.HasPrefix(f.path, "hub/app/") || strings.HasPrefix(f.path, "hub/app/state/") {
			continue
		}
		names, err := remembering(f)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	if len(found) > 0 {
		t.Errorf("remember applications in hub/app/state; types elsewhere that remember: %s", strings.Join(found, ", "))
	}
}

// remembering returns the struct types of a file that hold a lock, an atomic value, or a map or count by application.
func remembering(f file) ([]string, error) {
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
		if fields, ok := spec.Type.(*ast.StructType); ok && slices.ContainsFunc(fields.Fields.List, func(field *ast.Field) bool { return remembers(field.Type) }) {
			names = append(names, f.path+" "+spec.Name.Name)
		}
		return true
	})
	return names, nil
}

// remembers reports whether a field of a type holds state that its methods share.
func remembers(field ast.Expr) bool {
	switch e := field.(type) {
	case *ast.MapType:
		return isSelector(e.Key, "types", "NamespacedName") || isSelector(e.Key, "types", "UID") || isSelector(e.Key, "reconcile", "Request")
	case *ast.IndexExpr:
		return remembers(e.X)
	case *ast.SelectorExpr:
		return isPackage(e.X, "sync") || isPackage(e.X, "atomic") || isSelector(e, "retry", "Conflicts")
	default:
		return false
	}
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
		field string
		want  bool
	}{
		"a lock":                 {"mu sync.Mutex", true},
		"a map that is safe":     {"known sync.Map", true},
		"an atomic value":        {"last atomic.Pointer[int]", true},
		"a map by application":   {"known map[types.NamespacedName]int", true},
		"a count by application": {"conflicts retry.Conflicts", true},
		"a map of facts":         {"shares map[string]int", false},
		"a pointer to a store":   {"state *state.State", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := remembering(file{path: "a.go", text: "package a\n\ntype T struct {\n\t" + tt.field + "\n}\n"})
			if err != nil || len(got) == 1 != tt.want {
				t.Errorf("found %v, %v", got, err)
			}
		})
	}
}
