package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestSource(t *testing.T) {
	for _, f := range listFiles(t) {
		if !f.isGo() || f.isTest() {
			continue
		}
		r, ok := packageOf(module + "/" + path.Dir(f.path))
		if !ok || r.layer == layerTests {
			continue
		}
		problems, err := checkSource(f, r.layer)
		if err != nil {
			t.Error(err)
		}
		for _, problem := range problems {
			t.Error(problem)
		}
	}
}

// checkSource finds, in one file of product code, what neither the import graph
// nor a linter sees.
func checkSource(f file, layer int) ([]string, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", f.path, err)
	}
	var problems []string
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && namesAnother(fn) {
			problems = append(problems, fmt.Sprintf("%s: the docstring of %s names another function", set.Position(fn.Pos()), fn.Name.Name))
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if layer <= layerDecisions && readsClock(n) {
			problems = append(problems, fmt.Sprintf("%s reads the clock: time is an argument in layer %d", set.Position(n.Pos()), layer))
		}
		if matchesErrorText(n) {
			problems = append(problems, fmt.Sprintf("%s decides by the text of an error: use errors.Is or errors.As", set.Position(n.Pos())))
		}
		return true
	})
	return problems, nil
}

// namesAnother recognises a docstring that does not start with the name of its function,
// as after a renaming. The linter sees to exported ones.
func namesAnother(fn *ast.FuncDecl) bool {
	words := strings.Fields(fn.Doc.Text())
	return len(words) > 0 && words[0] != fn.Name.Name
}

// readsClock recognises the functions of package time that know what time it is.
func readsClock(n ast.Node) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	return isPackage(sel.X, "time") && slices.Contains([]string{
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
	}, sel.Sel.Name) || isPackage(sel.X, "metav1") && sel.Sel.Name == "Now"
}

// matchesErrorText recognises strings.Contains(err.Error(), ...) and its kin,
// and err.Error() == ....
func matchesErrorText(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return (n.Op == token.EQL || n.Op == token.NEQ) && (isErrorText(n.X) || isErrorText(n.Y))
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (isPackage(sel.X, "strings") || isPackage(sel.X, "regexp")) &&
			(strings.HasPrefix(sel.Sel.Name, "Contains") || strings.HasPrefix(sel.Sel.Name, "Has") ||
				strings.HasPrefix(sel.Sel.Name, "Index") || strings.HasPrefix(sel.Sel.Name, "Match") ||
				sel.Sel.Name == "EqualFold") && slices.ContainsFunc(n.Args, isErrorText)
	default:
		return false
	}
}

// isErrorText recognises x.Error().
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error"
}

// isPackage recognises a package by its name: the linter sees to it that a name
// means one package everywhere.
func isPackage(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
