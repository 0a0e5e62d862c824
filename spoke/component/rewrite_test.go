package component_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestStoredAsApplied checks when the condition is there, and that it names field, values and remedy within
// its bound, the same each time.
func TestStoredAsApplied(t *testing.T) {
	image := component.Rewrite{Kind: "Deployment", Name: "web", Field: "spec.image", Applied: "web:1", Stored: "mirror/web:1", More: 2}
	long := component.Rewrite{Kind: "StatefulSet", Name: strings.Repeat("n", 63), Field: strings.Repeat("f", 100), Applied: strings.Repeat("a", 80), Stored: strings.Repeat("b", 80), More: 1000}
	was := []metav1.Condition{{Type: v1.ConditionStoredAsApplied, Status: metav1.ConditionFalse, Reason: v1.ReasonChangedByAdmission, Message: "as before"}}
	for name, tt := range map[string]struct {
		in   component.SummaryInput
		want []string
	}{
		"none":                   {component.SummaryInput{}, nil},
		"one":                    {component.SummaryInput{Rewrites: []component.Rewrite{image}}, []string{"Deployment web has spec.image mirror/web:1 in place of web:1 and 2 more", v1.ReconcileAtAnnotation}},
		"a Secret":               {component.SummaryInput{Rewrites: []component.Rewrite{{Kind: "Secret", Name: "login", Field: "data.password"}}}, []string{"Secret login has another data.password"}},
		"many, long":             {component.SummaryInput{Rewrites: []component.Rewrite{long, long, long, image}}, []string{"2 more objects are changed", v1.ReconcileAtAnnotation}},
		"gone":                   {component.SummaryInput{Previous: was}, nil},
		"not known yet":          {component.SummaryInput{Previous: was, RewritesUnknown: true}, []string{"as before"}},
		"paused":                 {component.SummaryInput{Previous: was, Paused: true}, []string{"as before"}},
		"of an object that goes": {component.SummaryInput{Previous: was, Deleting: true, Rewrites: []component.Rewrite{image}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.States = []component.State{ready("web")}
			summary := component.Summarize(tt.in)
			c := meta.FindStatusCondition(summary.Conditions, v1.ConditionStoredAsApplied)
			if (c != nil) != (tt.want != nil) {
				t.Fatalf("condition %+v", c)
			}
			for _, text := range tt.want {
				if !strings.Contains(c.Message, text) || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonChangedByAdmission {
					t.Errorf("condition %+v, want it to contain %q", c, text)
				}
			}
			if stalled := meta.FindStatusCondition(summary.Conditions, v1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
				t.Errorf("Stalled: %s", stalled.Message)
			}
		})
	}
}
