package fakemembers_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// number returns a number in the status of an object.
func number(u *unstructured.Unstructured, field string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", field)
	return n
}

// isTrue reports whether a condition of an object is True.
func isTrue(u *unstructured.Unstructured, condition string) bool {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, each := range all {
		if c, ok := each.(map[string]any); ok && c["type"] == condition {
			return c["status"] == "True"
		}
	}
	return false
}

func workloadsReady(t *testing.T, c *cluster) {
	t.Helper()
	for _, replicas := range []int64{2, 1} {
		must(t)(c.apply(t, "deployments", deployment("ready", replicas), by("a")))
		c.await(t, "deployments", "ready", func(u *unstructured.Unstructured) bool {
			return number(u, "observedGeneration") == u.GetGeneration() && number(u, "replicas") == replicas &&
				number(u, "readyReplicas") == replicas && number(u, "updatedReplicas") == replicas && isTrue(u, "Available")
		})
	}
}

func setsReady(t *testing.T, c *cluster) {
	t.Helper()
	labels := map[string]any{"app": "set"}
	set := object("apps/v1", "StatefulSet", "set", map[string]any{"spec": map[string]any{
		"replicas": int64(1), "serviceName": "set", "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podSpec()},
		"volumeClaimTemplates": []any{map[string]any{
			"metadata": map[string]any{"name": "data"},
			"spec": map[string]any{
				"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
			},
		}},
	}})
	must(t)(c.apply(t, "statefulsets", set, by("a")))
	c.await(t, "statefulsets", "set", func(u *unstructured.Unstructured) bool {
		return number(u, "observedGeneration") == u.GetGeneration() && number(u, "readyReplicas") == 1 && number(u, "updatedReplicas") == 1
	})
	c.await(t, "persistentvolumeclaims", "data-set-0", func(u *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		size, _, _ := unstructured.NestedString(u.Object, "status", "capacity", "storage")
		return phase == "Bound" && size == "1Gi"
	})
	c.await(t, "pods", "set-0", func(u *unstructured.Unstructured) bool { return isTrue(u, "Ready") && u.GetLabels()["app"] == "set" })
	if err := c.resources("statefulsets").Delete(t.Context(), "set", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "pods", "set-0")
	if _, err := c.resources("persistentvolumeclaims").Get(t.Context(), "data-set-0", metav1.GetOptions{}); err != nil {
		t.Error(err) // Claims outlive the set.
	}
}

func jobsComplete(t *testing.T, c *cluster) {
	t.Helper()
	spec := podSpec()
	spec["restartPolicy"] = "Never"
	job := object("batch/v1", "Job", "job", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}})
	must(t)(c.resources("jobs").Create(t.Context(), job, metav1.CreateOptions{}))
	c.await(t, "jobs", "job", func(u *unstructured.Unstructured) bool { return isTrue(u, "Complete") && number(u, "succeeded") == 1 })
}
