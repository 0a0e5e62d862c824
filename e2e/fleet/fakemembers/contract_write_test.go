package fakemembers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func applyCreates(t *testing.T, c *cluster) {
	t.Helper()
	intent := versioned(configMap("creates", map[string]any{"key": "value"}), "", "1")
	created := must(t)(c.apply(t, "configmaps", intent, by("a")))
	if created.GetUID() == "" || created.GetResourceVersion() == "1" || created.GetCreationTimestamp().Unix() <= 0 {
		t.Errorf("the metadata is %v", created.Object["metadata"])
	}
	managers := created.GetManagedFields()
	if len(managers) != 1 || managers[0].Manager != "a" || managers[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the managers are %v", managers)
	}
	if fields := string(managers[0].FieldsV1.GetRawBytes()); !strings.Contains(fields, `"f:key":{}`) {
		t.Errorf("the fields are %s", fields)
	}
}

func applyLeaves(t *testing.T, c *cluster) {
	t.Helper()
	before := must(t)(c.apply(t, "configmaps", configMap("leaves", map[string]any{"key": "old"}), by("a")))
	_, err := c.apply(t, "configmaps", versioned(configMap("leaves", map[string]any{"key": "new"}), "", "1"), by("a"))
	expectConflict(t, err)
	after := must(t)(c.resources("configmaps").Get(t.Context(), "leaves", metav1.GetOptions{}))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

func applyRemoves(t *testing.T, c *cluster) {
	t.Helper()
	must(t)(c.apply(t, "configmaps", configMap("removes", map[string]any{"mine": "1", "dropped": "1"}), by("a")))
	must(t)(c.apply(t, "configmaps", configMap("removes", map[string]any{"theirs": "1"}), by("b")))
	after := must(t)(c.apply(t, "configmaps", configMap("removes", map[string]any{"mine": "2"}), by("a")))
	if diff := cmp.Diff(map[string]string{"mine": "2", "theirs": "1"}, data(t, after)); diff != "" {
		t.Error(diff)
	}
}

func applyTwice(t *testing.T, c *cluster) {
	t.Helper()
	intent := configMap("twice", map[string]any{"key": "value"})
	first := must(t)(c.apply(t, "configmaps", intent, by("a")))
	second := must(t)(c.apply(t, "configmaps", intent, forced("a")))
	if first.GetResourceVersion() != second.GetResourceVersion() {
		t.Errorf("the version went from %s to %s", first.GetResourceVersion(), second.GetResourceVersion())
	}
}

func applyConflicts(t *testing.T, c *cluster) {
	t.Helper()
	must(t)(c.apply(t, "configmaps", configMap("conflicts", map[string]any{"key": "a"}), by("a")))
	_, err := c.apply(t, "configmaps", configMap("conflicts", map[string]any{"key": "b"}), by("b"))
	expectConflict(t, err)
	after := must(t)(c.apply(t, "configmaps", configMap("conflicts", map[string]any{"key": "b"}), forced("b")))
	if got := data(t, after)["key"]; got != "b" {
		t.Errorf("the value is %q", got)
	}
}

func applyChecks(t *testing.T, c *cluster) {
	t.Helper()
	intent := configMap("checks", map[string]any{"key": "1"})
	first := must(t)(c.apply(t, "configmaps", intent, by("a")))
	second := must(t)(c.apply(t, "configmaps", configMap("checks", map[string]any{"key": "2"}), by("a")))
	_, err := c.apply(t, "configmaps", versioned(intent, first.GetUID(), first.GetResourceVersion()), forced("a"))
	expectConflict(t, err)
	_, err = c.apply(t, "configmaps", versioned(intent, "another", first.GetResourceVersion()), forced("a"))
	expectConflict(t, err)
	_, err = c.apply(t, "configmaps", versioned(intent, "another", second.GetResourceVersion()), forced("a"))
	if !apierrors.IsInvalid(err) {
		t.Errorf("the error is %v", err)
	}
	_, err = c.apply(t, "configmaps", versioned(configMap("checks-missing", nil), "another", "7"), forced("a"))
	expectConflict(t, err)
	must(t)(c.apply(t, "configmaps", versioned(intent, second.GetUID(), second.GetResourceVersion()), forced("a")))
}

func applyNamespace(t *testing.T, c *cluster) {
	t.Helper()
	intent := configMap("elsewhere", nil)
	intent.SetNamespace("missing")
	_, err := c.dynamic.Resource(configMaps()).Namespace("missing").Apply(t.Context(), "elsewhere", intent, by("a"))
	expectNotFound(t, err)
}

func createOnce(t *testing.T, c *cluster) {
	t.Helper()
	must(t)(c.resources("configmaps").Create(t.Context(), configMap("once", map[string]any{"key": "1"}), metav1.CreateOptions{}))
	_, err := c.resources("configmaps").Create(t.Context(), configMap("once", map[string]any{"key": "2"}), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("the error is %v", err)
	}
}

func (c *cluster) merge(t *testing.T, plural, name, patch string, subresources ...string) (*unstructured.Unstructured, error) {
	t.Helper()
	return c.resources(plural).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "a"}, subresources...)
}

func patchChecks(t *testing.T, c *cluster) {
	t.Helper()
	first := must(t)(c.apply(t, "configmaps", configMap("patched", map[string]any{"key": "1", "dropped": "1"}), by("a")))
	second := must(t)(c.merge(t, "configmaps", "patched", `{"metadata":{"resourceVersion":"`+first.GetResourceVersion()+`"},"data":{"key":"2","dropped":null}}`))
	if diff := cmp.Diff(map[string]string{"key": "2"}, data(t, second)); diff != "" {
		t.Error(diff)
	}
	_, err := c.merge(t, "configmaps", "patched", `{"metadata":{"resourceVersion":"`+first.GetResourceVersion()+`"},"data":{"key":"3"}}`)
	expectConflict(t, err)
	_, err = c.merge(t, "configmaps", "patch-missing", `{"data":{"key":"3"}}`)
	expectNotFound(t, err)
}

// deployment returns a Deployment without pods, whose status no controller changes again.
func deployment(name string, replicas int64) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return object("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podSpec()},
	}})
}

func podSpec() map[string]any {
	return map[string]any{"containers": []any{map[string]any{"name": "main", "image": "shop:v1"}}}
}

func statusApart(t *testing.T, c *cluster) {
	t.Helper()
	definitionServed(t, c)
	app := object("ecommerce.io/v1", "EcommerceApp", "apart", map[string]any{"spec": map[string]any{"image": "shop:v1"}})
	must(t)(c.apply(t, "ecommerceapps", app, by("a")))
	patched := must(t)(c.merge(t, "ecommerceapps", "apart", `{"spec":{"image":"other"},"status":{"message":"written"}}`, "status"))
	check := func(u *unstructured.Unstructured) {
		t.Helper()
		image, _, _ := unstructured.NestedString(u.Object, "spec", "image")
		message, _, _ := unstructured.NestedString(u.Object, "status", "message")
		if image != "shop:v1" || message != "written" {
			t.Errorf("the image is %q and the message %q", image, message)
		}
	}
	check(patched)
	check(must(t)(c.merge(t, "ecommerceapps", "apart", `{"metadata":{"labels":{"a":"b"}},"status":{"message":"lost"}}`)))
	if got := patched.GetGeneration(); got != 1 {
		t.Errorf("the generation is %d", got)
	}
	_, err := c.merge(t, "ecommerceapps", "apart", `{"metadata":{"resourceVersion":"`+patched.GetResourceVersion()+`"},"status":{"message":"late"}}`, "status")
	expectConflict(t, err)
}

func generationCounts(t *testing.T, c *cluster) {
	t.Helper()
	for _, step := range []struct {
		replicas int64
		label    string
		want     int64
	}{{0, "", 1}, {0, "labelled", 1}, {1, "labelled", 2}} {
		d := deployment("counts", step.replicas)
		d.SetLabels(map[string]string{"step": step.label})
		if got := must(t)(c.apply(t, "deployments", d, by("a"))).GetGeneration(); got != step.want {
			t.Errorf("%+v: the generation is %d", step, got)
		}
	}
}

func deletionChecks(t *testing.T, c *cluster) {
	t.Helper()
	first := must(t)(c.apply(t, "configmaps", configMap("deleted", map[string]any{"key": "1"}), by("a")))
	second := must(t)(c.apply(t, "configmaps", configMap("deleted", map[string]any{"key": "2"}), by("a")))
	uid, stale, fresh := second.GetUID(), first.GetResourceVersion(), second.GetResourceVersion()
	remove := func(p metav1.Preconditions) error {
		return c.resources("configmaps").Delete(t.Context(), "deleted", metav1.DeleteOptions{Preconditions: &p})
	}
	expectConflict(t, remove(metav1.Preconditions{UID: new(types.UID("another"))}))
	expectConflict(t, remove(metav1.Preconditions{UID: &uid, ResourceVersion: &stale}))
	if err := remove(metav1.Preconditions{UID: &uid, ResourceVersion: &fresh}); err != nil {
		t.Error(err)
	}
	expectNotFound(t, remove(metav1.Preconditions{}))
}

func finalizersHold(t *testing.T, c *cluster) {
	t.Helper()
	held := configMap("held", nil)
	held.SetFinalizers([]string{"example.com/hold"})
	must(t)(c.apply(t, "configmaps", held, by("a")))
	if err := c.resources("configmaps").Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if u := must(t)(c.resources("configmaps").Get(t.Context(), "held", metav1.GetOptions{})); u.GetDeletionTimestamp() == nil {
		t.Error("the object is not being deleted")
	}
	must(t)(c.merge(t, "configmaps", "held", `{"metadata":{"finalizers":null}}`))
	_, err := c.resources("configmaps").Get(t.Context(), "held", metav1.GetOptions{})
	expectNotFound(t, err)
}

func deletionCollects(t *testing.T, c *cluster) {
	t.Helper()
	owner := must(t)(c.apply(t, "configmaps", configMap("owner", nil), by("a")))
	dependent := configMap("dependent", nil)
	dependent.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID()}})
	must(t)(c.apply(t, "configmaps", dependent, by("a")))
	policy := metav1.DeletePropagationBackground
	if err := c.resources("configmaps").Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "configmaps", "dependent")
}
