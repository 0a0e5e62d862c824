package runbook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/runbook"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// reasons returns the constants of api/v1 whose names begin with Reason, those of package doctor, and the states of
// replicas: their names by value.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	found := constants(t, "../../api/v1/conditions.go", "Reason")
	if len(found) < 100 {
		t.Fatalf("found %d reasons in api/v1/conditions.go, want more than 100", len(found))
	}
	maps.Copy(found, constants(t, "../../api/v1/database_status.go", "Replica"))
	maps.Copy(found, constants(t, "../../cmd/kubectl-shopfleet/doctor/reasons.go", "reason"))
	return found
}

// constants returns those of a file whose names begin with a prefix.
func constants(t *testing.T, path, prefix string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				if !strings.HasPrefix(name.Name, prefix) {
					continue
				}
				value, err := strconv.Unquote(values.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatalf("%s: %v", name.Name, err)
				}
				found[value] = name.Name
			}
		}
	}
	return found
}

// TestEveryReasonHasAnEntry checks that each reason has an entry in the runbook.
func TestEveryReasonHasAnEntry(t *testing.T) {
	constants := reasons(t)
	for value, name := range constants {
		if _, found := runbook.Lookup(value); !found {
			t.Errorf("%s has no entry: add one to hub/runbook, and run make generate", name)
		}
	}
	for _, e := range runbook.Entries() {
		if constants[e.Reason] == "" {
			t.Errorf("the entry %s is of no constant of api/v1 or of doctor", e.Reason)
		}
	}
}

// TestReasonsAreConstants checks that no reason is a literal or a conversion: these have no entry in the runbook. What an
// argument or a variable holds, package e2e/framework/invariants checks.
func TestReasonsAreConstants(t *testing.T) {
	set := token.NewFileSet()
	files := 0
	for _, root := range []string{"../../hub", "../../spoke", "../../cmd/kubectl-shopfleet/doctor"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, value := range reasonValues(n) {
					if madeUp(value) {
						t.Errorf("%s: the reason is no constant of api/v1 or of doctor", set.Position(value.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("read %d files, want more than 300", files)
	}
}

// reasonValues returns the values that a node gives to fields named Reason or reason, or to the functions of package doctor
// that make checks.
func reasonValues(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "reason") {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		if function, ok := n.Fun.(*ast.Ident); ok && (function.Name == "good" || function.Name == "bad") && len(n.Args) > 1 {
			return n.Args[1:2]
		}
	case *ast.AssignStmt:
		var values []ast.Expr
		for i, to := range n.Lhs {
			if field, ok := to.(*ast.SelectorExpr); ok && strings.EqualFold(field.Sel.Name, "reason") && len(n.Rhs) == len(n.Lhs) {
				values = append(values, n.Rhs[i])
			}
		}
		return values
	}
	return nil
}

// madeUp reports whether an expression is a text, other than an empty one, or a conversion to string.
func madeUp(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.BasicLit:
		return value.Value != `""`
	case *ast.CallExpr:
		function, ok := value.Fun.(*ast.Ident)
		return ok && function.Name == "string"
	}
	return false
}

// alert is a rule of a PrometheusRule; recording rules have no name.
type alert struct {
	Name        string            `json:"alert"`
	Annotations map[string]string `json:"annotations"`
}

// alerts returns the alerts in config/monitoring, and those of an application.
func alerts(t *testing.T) []alert {
	t.Helper()
	var all []alert
	for _, raw := range append(shopRules(t), read(t, "../../config/monitoring/hub/prometheusrule.yaml"), read(t, "../../config/monitoring/spoke/prometheusrule.yaml")) {
		var rules struct {
			Spec struct {
				Groups []struct {
					Rules []alert `json:"rules"`
				} `json:"groups"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(raw, &rules); err != nil {
			t.Fatal(err)
		}
		for _, group := range rules.Spec.Groups {
			all = append(all, group.Rules...)
		}
	}
	return slices.DeleteFunc(all, func(a alert) bool { return a.Name == "" })
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rendered returns the objects of a kind of the sample of an application, which is changed before.
func rendered(t *testing.T, kind string, change func(*v1.EcommerceApp)) []component.Object {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := yaml.Unmarshal(read(t, "../../config/samples/ecommerceapp.yaml"), app); err != nil {
		t.Fatal(err)
	}
	change(app)
	components, err := render.EcommerceApp(app, render.Cluster{PrometheusRules: true})
	if err != nil {
		t.Fatal(err)
	}
	var found []component.Object
	for _, c := range components {
		for _, o := range c.Objects {
			if o.Resource.GetObjectKind().GroupVersionKind().Kind == kind {
				found = append(found, o)
			}
		}
	}
	return found
}

// TestSecretsCanBeCreatedAgain checks that the commands for lost credentials have the names and the keys of the
// Secrets that databases depend on.
func TestSecretsCanBeCreatedAgain(t *testing.T) {
	e, _ := runbook.Lookup(v1.ReasonCredentialsMissing)
	for engine, version := range map[v1.Engine]string{v1.EnginePostgreSQL: "17.2", v1.EngineMySQL: "8.4"} {
		secrets := 0
		for _, o := range rendered(t, "Secret", func(app *v1.EcommerceApp) {
			app.Name, app.Spec.Database.Engine, app.Spec.Database.Version, app.Spec.Database.CredentialsSecretRef = "app", engine, version, nil
		}) {
			secret, ok := o.Resource.(*corev1.Secret)
			if !ok || o.Generate == nil || !strings.HasPrefix(secret.Name, "app-database-") {
				continue
			}
			secrets++
			_, command, _ := strings.Cut(e.Remedy, "`kubectl create secret generic APP"+strings.TrimPrefix(secret.Name, "app")+" ")
			command, _, _ = strings.Cut(command, "`")
			for _, key := range slices.Concat(slices.Collect(maps.Keys(secret.Data)), slices.Collect(maps.Keys(secret.StringData)), slices.Collect(maps.Keys(o.Generate.Random))) {
				if !strings.Contains(command+" ", " --from-literal="+key+"=") {
					t.Errorf("%s: the command for Secret %s has no key %s: %q", engine, secret.Name, key, command)
				}
			}
		}
		if secrets != 2 {
			t.Errorf("%s: %d Secrets, want 2", engine, secrets)
		}
	}
}

// shopRules returns the PrometheusRules of an application.
func shopRules(t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte
	for _, o := range rendered(t, "PrometheusRule", func(*v1.EcommerceApp) {}) {
		raw, err := yaml.Marshal(o.Resource)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	if len(all) != 1 {
		t.Fatalf("the sample has %d PrometheusRules, want 1", len(all))
	}
	return all
}

// runbookURL is the address of hub/RUNBOOK.md, which Alertmanager shows as a link.
const runbookURL = "https://github.com/shopfleet/shopfleet/blob/main/hub/RUNBOOK.md#"

// TestEveryAlertHasAnEntry checks that the annotation runbook_url of an alert leads to its section in the page.
func TestEveryAlertHasAnEntry(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	for _, a := range alerts(t) {
		want[a.Name] = true
		if link := runbookURL + strings.ToLower(a.Name); a.Annotations["runbook_url"] != link {
			t.Errorf("%s: the annotation runbook_url is %q, want %q", a.Name, a.Annotations["runbook_url"], link)
		}
	}
	for _, e := range runbook.Alerts() {
		if got[e.Reason] {
			t.Errorf("%s has two entries", e.Reason)
		}
		got[e.Reason] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts and entries of hub/runbook (-want +got):\n%s", diff)
	}
}

// TestAnchors checks that a heading has the anchor that links use, since names have letters only.
func TestAnchors(t *testing.T) {
	for _, e := range append(runbook.Alerts(), runbook.Entries()...) {
		if strings.ContainsFunc(e.Reason, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
			t.Errorf("the anchor of %q is not its name in lower case", e.Reason)
		}
	}
}
