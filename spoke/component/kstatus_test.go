package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// kstatus returns what tools that use kstatus say of an application with a summary.
func kstatus(t *testing.T, generation int64, deleting bool, r component.Summary) string {
	t.Helper()
	app := &v1.EcommerceApp{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: generation},
		Status:     v1.EcommerceAppStatus{Phase: r.Phase, ObservedGeneration: r.ObservedGeneration, Conditions: r.Conditions},
	}
	if deleting {
		app.DeletionTimestamp = new(at(0))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status.String()
}

// TestKstatus checks that kstatus reports Failed if a user must act, and InProgress for anything that only takes
// time.
func TestKstatus(t *testing.T) {
	cases := summaries()
	blocked := func(reason string) summary {
		return summary{in: component.SummaryInput{ObservedGeneration: 6, Previous: initialized(6), States: []component.State{ready("web")},
			Problems: []component.Problem{{Component: "web", Reason: reason, Message: "not yet", Blocking: true}}}}
	}
	for _, reason := range []string{v1.ReasonConflict, v1.ReasonCredentialsMissing, v1.ReasonNamespaceTerminating} {
		cases[reason] = blocked(reason)
	}
	notGrown := summary{in: component.SummaryInput{Previous: initialized(6), States: []component.State{{Name: "db", Growing: true, Phase: v1.PhaseUpdating}},
		Problems: []component.Problem{{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "the claim cannot grow", Blocking: true}}}}
	cases["a volume that cannot grow"] = notGrown
	cases["paused"] = summary{in: component.SummaryInput{Paused: true, Previous: initialized(7), States: []component.State{ready("web")}}}
	cases["paused, with a change"] = summary{in: component.SummaryInput{Paused: true, Previous: initialized(6), Pending: []v1.PendingChange{{Kind: "Deployment"}},
		States: []component.State{unready("web", v1.PhaseUpdating, v1.ReasonProgressing)}}}
	raced := blocked(v1.ReasonForbidden)
	raced.in.Incomplete = true
	cases["denied, and a conflict that is retried at once"] = raced

	want := map[string]string{
		"running": "Current", "creating": "InProgress", "updating": "InProgress", "scaling": "InProgress", "still scaling": "InProgress", "still scaling, and copying": "InProgress",
		"still updating": "InProgress", "updating while scaling": "InProgress", "trouble while running": "InProgress", "trouble while creating": "InProgress",
		"nothing could be observed": "InProgress", "a write met a newer object": "InProgress", "a volume that cannot grow": "Failed",
		"a Secret is missing while creating": "InProgress", "a Secret is missing while scaling": "InProgress",
		"a Secret is missing while running": "Current", "a Secret is missing, and there is no progress": "Failed",
		"paused": "Current", "paused, with a change": "InProgress",
		"pods crash while scaling":                       "InProgress",
		"denied, and a conflict that is retried at once": "InProgress", v1.ReasonNamespaceTerminating: "InProgress",
		"failed": "Failed", "forbidden": "Failed", "invalid": "Failed", v1.ReasonConflict: "Failed", v1.ReasonCredentialsMissing: "Failed",
		"deleting": "Terminating", "deleting is refused": "Terminating",
	}
	got := make(map[string]string, len(cases))
	for name, tt := range cases {
		tt.in.Generation, tt.in.ObservedGeneration, tt.in.Now = 7, 6, at(0)
		summary := component.Summarize(tt.in)
		got[name] = kstatus(t, tt.in.Generation, tt.in.Deleting, summary)
		stalled := meta.FindStatusCondition(summary.Conditions, v1.ConditionStalled)
		failed := summary.Phase == v1.PhaseFailed && name != v1.ReasonNamespaceTerminating || name == "a volume that cannot grow"
		if !tt.in.Deleting && failed != (stalled.Status == metav1.ConditionTrue) {
			t.Errorf("%s: Stalled is %s in phase %s", name, stalled.Status, summary.Phase)
		}
		if stalled.ObservedGeneration != 7 || stalled.Message == "" || stalled.Status == metav1.ConditionTrue && stalled.Reason == v1.ReasonProgressing {
			t.Errorf("%s: Stalled is %+v", name, stalled)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kstatus (-want +got):\n%s", diff)
	}
	refused := cases["deleting is refused"].in
	refused.Now = at(0)
	if c := meta.FindStatusCondition(component.Summarize(refused).Conditions, v1.ConditionStalled); c.Status != metav1.ConditionTrue || c.Reason != v1.ReasonForbidden {
		t.Errorf("a deletion that is denied has Stalled %s, %s", c.Status, c.Reason)
	}
}
