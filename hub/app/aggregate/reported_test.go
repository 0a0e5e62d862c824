package aggregate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/crdschema"
)

// definition is the CustomResourceDefinition of EcommerceApp, which the API server validates by.
const definition = "../../../config/crd/bases/ecommerce.io_ecommerceapps.yaml"

// hostile returns what a member may report, made from bytes.
func hostile(data []byte) Cluster {
	filler := randfill.NewFromGoFuzz(data).NilChance(0.2).NumElements(0, 20).Funcs(
		func(r *v1.Phase, c randfill.Continue) { *r = pick(c, append(phases(), "Exploded", "")...) },
		func(r *string, c randfill.Continue) {
			*r = pick(c, "", "database", "frontend", v1.ConditionReady, v1.ConditionStalled, v1.ConditionDegraded, v1.ConditionAvailable,
				"True", "False", v1.ReasonDeadlineExceeded, "not a reason", string(make([]byte, 3000)), "a=b", "10.0.0.1", "\xff\x00", c.String(5000))
		},
	)
	c := Cluster{Name: "hostile", Copy: &Copy{}, Failure: &Failure{}, PropagationFailure: &Failure{}}
	filler.Fill(c.Copy)
	filler.Fill(&c.Pending)
	filler.Fill(&c.Unknown)
	if c.Copy.Revision%2 == 0 {
		filler.Fill(c.Failure)
		filler.Fill(c.PropagationFailure)
		filler.Fill(&c.LeftBehind)
	} else {
		c.Failure, c.PropagationFailure = nil, nil
	}
	c.Copy.Deleting = false
	if c.Copy.Generation%2 == 0 { // It is as current as it says.
		c.Copy.HubGeneration, c.Copy.Status.ObservedGeneration, c.Copy.Revision = 7, c.Copy.Generation, 0
		for i := range c.Copy.Status.Conditions {
			c.Copy.Status.Conditions[i].ObservedGeneration = c.Copy.Generation
		}
	}
	return c
}

func pick[T any](c randfill.Continue, from ...T) T { return from[c.Intn(len(from))] }

// FuzzBounded checks that whatever members report, the API server takes the status of the application, and with it
// what the others report.
func FuzzBounded(f *testing.F) {
	schema := crdschema.OfStatus(f, definition)
	for seed := range 24 {
		f.Add([]byte{byte(seed), byte(seed >> 3), 7, byte(seed * 31), 200, byte(seed * 7), 9, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		said := hostile(data)
		for _, change := range []func(*Input){
			func(*Input) {},
			func(in *Input) { in.Paused = true },
			func(in *Input) { in.Chosen = in.Chosen[:1] }, // It is left.
			func(in *Input) { in.Deleting = true },
			func(in *Input) { in.Clusters[1].Connection = Lost },
			func(in *Input) { in.Clusters[1].Paused = true },
			func(in *Input) { in.StatusRejection = "refused" },
		} {
			in := Input{Generation: 7, Chosen: []string{"honest", "hostile"}, Now: at(0)}
			honest := member("honest", reporting(v1.PhaseRunning))
			in.Clusters = []Cluster{honest.Bounded(), said.Bounded()}
			in.Previous = Compute(in)
			change(&in)
			next := Compute(in)
			for _, status := range []v1.EcommerceAppStatus{in.Previous, next} {
				if err := schema.Validate(t, &status); err != nil {
					t.Fatalf("refused: %v", err)
				}
			}
		}
	})
}

// TestBounded checks that invalid parts of a report are left out, and the valid rest is kept.
func TestBounded(t *testing.T) {
	t.Parallel()
	type reported = v1.EcommerceAppStatus
	long := "a in (" + strings.Repeat("bbbbbbb,", maxSelector/8-2) + "ccccccccc)"
	for name, test := range map[string]struct{ said, want reported }{
		"phase":          {reported{Phase: v1.PhaseRunning}, reported{Phase: v1.PhaseRunning}},
		"another phase":  {reported{Phase: "Dancing"}, reported{}},
		"selector":       {reported{Selector: "app=x"}, reported{Selector: "app=x"}},
		"no selector":    {reported{Selector: "app in"}, reported{}},
		"a long one":     {reported{Selector: long}, reported{Selector: long}},
		"one too long":   {reported{Selector: "a" + long}, reported{}},
		"held templates": {reported{HeldTemplates: []string{"nosuch", "backend", "backend", frontend}}, reported{HeldTemplates: []string{"backend", frontend}}},
		"components": {
			reported{Components: []v1.ComponentStatus{{Name: "nosuch"}, {Name: "backend"}, {Name: "backend", Ready: true}, {Name: frontend}}},
			reported{Components: []v1.ComponentStatus{{Name: "backend"}, {Name: frontend}}},
		},
		"conditions": {
			reported{Conditions: []metav1.Condition{{Type: "A", Status: "Maybe", Reason: "R"}, {Type: "B", Status: "True", Reason: "R"}, {Type: "B", Status: "False", Reason: "R"}, {Type: "C", Status: "False", Reason: "R"}}},
			reported{Conditions: []metav1.Condition{{Type: "B", Status: "True", Reason: "R"}, {Type: "C", Status: "False", Reason: "R"}}},
		},
		"lags": {
			reported{DatabaseReplicas: []v1.DatabaseReplica{{LagSeconds: new(int64(-1))}, {LagSeconds: new(int64(0))}, {}}},
			reported{DatabaseReplicas: []v1.DatabaseReplica{{}, {LagSeconds: new(int64(0))}, {}}},
		},
		"changes": {
			reported{PendingChanges: []v1.PendingChange{{Action: "Dance"}, {Action: v1.PendingCreate, Name: "x"}}},
			reported{PendingChanges: []v1.PendingChange{{Action: v1.PendingCreate, Name: "x"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Cluster{Copy: &Copy{Status: test.said}}.Bounded().Copy.Status
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]metav1.Condition, maxReportedNames+1)
	for i := range many {
		many[i] = metav1.Condition{Type: strings.Repeat("c", i+1), Status: metav1.ConditionTrue}
	}
	if got := len(reportedConditions(many)); got != maxReportedNames {
		t.Errorf("%d conditions of %d", got, len(many))
	}
	changes := slices.Repeat([]v1.PendingChange{{Action: v1.PendingCreate}}, v1.MaxPendingChanges+1)
	if got := len(reportedChanges(changes)); got != v1.MaxPendingChanges {
		t.Errorf("%d changes of %d", got, len(changes))
	}
}
