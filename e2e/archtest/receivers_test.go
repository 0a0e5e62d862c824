package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestReceivers(t *testing.T) {
	for _, f := range listFiles(t) {
		if !f.isGo() {
			continue
		}
		problems, err := checkReceivers(f)
		if err != nil {
			t.Error(err)
		}
		for _, problem := range problems {
			t.Error(problem)
		}
	}
}

func TestCheckReceivers(t *testing.T) {
	for method, want := range map[string]string{
		"func (q *MemberQueue) a() {}": "",
		"func (m MemberQueue) a() {}":  "",
		"func (d *DB) a() {}":          "",
		"func (in input) a() {}":       "",
		"func (s set[T]) a() {}":       "",
		"func (_ input) a() {}":        "",
		"func (MemberQueue) a() {}":    "",
		"func (l *MemberQueue) a() {}": "l is no initial of MemberQueue",
		"func (x *pair[K, V]) a() {}":  "x is no initial of pair",
		"func (put input) a() {}":      "put is no initial of input",
		"func l(v Result) {}":          "",
	} {
		problems, err := checkReceivers(file{"a.go", "package a\n\n" + method + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		expectProblem(t, problems, want)
	}
}

// checkReceivers finds receivers that are no initial of their type, as those of an older name.
func checkReceivers(f file) ([]string, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, f.text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", f.path, err)
	}
	var problems []string
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
			continue
		}
		name, of := fn.Recv.List[0].Names[0].Name, typeName(fn.Recv.List[0].Type)
		if name != "_" && !isInitial(name, of) {
			problems = append(problems, fmt.Sprintf("%s: the receiver %s is no initial of %s", set.Position(fn.Pos()), name, of))
		}
	}
	return problems, nil
}

// isInitial reports whether a receiver is the first letter of a word in the name of its type, or the
// first two letters of the name.
func isInitial(name, of string) bool {
	runes := []rune(of)
	initials := []string{string(unicode.ToLower(runes[0]))}
	for _, r := range runes[1:] {
		if unicode.IsUpper(r) {
			initials = append(initials, string(unicode.ToLower(r)))
		}
	}
	return slices.Contains(initials, name) || len(name) == 2 && strings.HasPrefix(strings.ToLower(of), name)
}

// typeName returns the name of the type of a receiver.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return "_"
	}
}
