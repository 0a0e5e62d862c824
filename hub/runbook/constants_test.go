package runbook_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/hub/runbook"
)

// reasons returns the constants of api/v1 whose names begin with Reason, and the states of replicas:
// their names by value.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	found := constants(t, "conditions.go", "Reason")
	if len(found) < 100 {
		t.Fatalf("found %d reasons in api/v1/conditions.go, want more than 100", len(found))
	}
	maps.Copy(found, constants(t, "database_status.go", "Replica"))
	return found
}

// constants returns those of a file of api/v1 whose names begin with a prefix.
func constants(t *testing.T, name, prefix string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1/"+name, nil, 0)
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

// TestEveryReasonHasAnEntry: a reason that is added without an entry fails here.
func TestEveryReasonHasAnEntry(t *testing.T) {
	constants := reasons(t)
	for value, name := range constants {
		if _, found := runbook.Lookup(value); !found {
			t.Errorf("v1.%s has no entry: add one to hub/runbook, and run make generate", name)
		}
	}
	for _, e := range runbook.Entries() {
		if constants[e.Reason] == "" {
			t.Errorf("the entry %s is of no constant of api/v1", e.Reason)
		}
	}
}

// alert is a rule of a PrometheusRule; recording rules have no name.
type alert struct {
	Name        string            `json:"alert"`
	Annotations map[string]string `json:"annotations"`
}

// alerts returns the alerts in config/monitoring.
func alerts(t *testing.T) []alert {
	t.Helper()
	var all []alert
	for _, process := range []string{"hub", "spoke"} {
		var rules struct {
			Spec struct {
				Groups []struct {
					Rules []alert `json:"rules"`
				} `json:"groups"`
			} `json:"spec"`
		}
		raw, err := os.ReadFile("../../config/monitoring/" + process + "/prometheusrule.yaml")
		if err != nil {
			t.Fatal(err)
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

// runbookURL is the address of hub/RUNBOOK.md, which Alertmanager shows as a link.
const runbookURL = "https://github.com/shopfleet/shopfleet/blob/main/hub/RUNBOOK.md#"

// TestEveryAlertHasAnEntry: the annotation runbook_url of an alert leads to its section in the page.
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
		t.Errorf("alerts of config/monitoring and entries of hub/runbook (-want +got):\n%s", diff)
	}
}

// TestAnchors: a heading has the anchor that links use, since names have letters only.
func TestAnchors(t *testing.T) {
	for _, e := range append(runbook.Alerts(), runbook.Entries()...) {
		if strings.ContainsFunc(e.Reason, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
			t.Errorf("the anchor of %q is not its name in lower case", e.Reason)
		}
	}
}
