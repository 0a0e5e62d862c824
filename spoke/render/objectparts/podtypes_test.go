package objectparts

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPodTypesAreThoseOfKubernetes converts values with every field set: Kubernetes reads the same from our JSON, and knows
// each of our fields.
func TestPodTypesAreThoseOfKubernetes(t *testing.T) {
	t.Parallel()
	fill := randfill.NewWithSeed(1).NilChance(0).NumElements(1, 3).Funcs(func(q *resource.Quantity, c randfill.Continue) {
		*q = *resource.NewQuantity(1+int64(c.Intn(9)), resource.DecimalSI)
		_ = q.String() // As it is after it was decoded.
	})
	for range 100 {
		var env v1.EnvVars
		var from []v1.EnvFromSource
		var resources v1.Resources
		var pods v1.PodSettings
		fill.Fill(&env)
		fill.Fill(&from)
		fill.Fill(&resources)
		fill.Fill(&pods.Tolerations)
		var pod corev1.PodSpec
		Configure(&pod, pods)
		same(t, env, EnvVars(env))
		same(t, from, EnvFrom(from))
		same(t, resources, Resources(resources))
		same(t, pods.Tolerations, pod.Tolerations)
	}
	if EnvVars(nil) != nil || EnvFrom(nil) != nil || Resources(v1.Resources{}).Requests != nil {
		t.Error("what is absent is not absent in a container")
	}
}

// same fails unless a type of Kubernetes that is decoded from our value is what the value was converted to.
func same[T any](t *testing.T, ours any, converted T) {
	t.Helper()
	raw, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var theirs T
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, converted); diff != "" {
		t.Fatalf("converted %s (-want +got):\n%s", raw, diff)
	}
}
