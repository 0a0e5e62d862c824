package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDryHandOver checks that in a dry run, a Deployment keeps the replicas that the intent stops setting, and no
// other workload does.
func TestDryHandOver(t *testing.T) {
	t.Parallel()
	const none = -1
	for name, test := range map[string]struct {
		kind        string
		has, wanted int64
		start       int32
		want        int64
	}{
		"kept":         {"Deployment", 3, none, 2, 3},
		"wanted":       {"Deployment", 3, 4, 2, 4},
		"no number":    {"Deployment", none, none, 2, none},
		"stopped":      {"Deployment", 0, none, 2, 2},
		"stays so":     {"Deployment", 0, none, 0, none},
		"another kind": {"StatefulSet", 3, none, 2, none},
	} {
		u := update{intent: &unstructured.Unstructured{Object: map[string]any{"kind": test.kind}}, content: map[string]any{}, start: test.start}
		for object, n := range map[*map[string]any]int64{&u.intent.Object: test.wanted, &u.content: test.has} {
			if n != none {
				(*object)["spec"] = map[string]any{"replicas": n}
			}
		}
		version, err := New(Options{DryRun: true}).leaveReplicas(t.Context(), u, "7")
		got, set, _ := unstructured.NestedInt64(u.intent.Object, "spec", "replicas")
		if !set {
			got = none
		}
		if err != nil || version != "7" || got != test.want {
			t.Errorf("%s: %d replicas, want %d; version %s, %v", name, got, test.want, version, err)
		}
	}
}
