package conversion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// hub is a hub of today, whose API server serves a second version, with two members: one has the definition that the hub
// installs, and one that of a later release, with both versions.
type hub struct {
	*framework.Environment
	api     cluster
	webhook *webhook
	app     *v1.EcommerceApp
	// mark holds the ends of the audit logs when the copies had the image before.
	mark framework.Marks
}

// TestHub follows a shop through the life of two versions.
func TestHub(t *testing.T) {
	t.Parallel()
	h := &hub{webhook: newWebhook(t), app: framework.Small(namespace, "shop", "one", "two")}
	h.Environment = framework.New(t, framework.Options{Fleet: fleet.Options{
		Hub:     fleet.ClusterSpec{Name: "hub", APIServerOnly: true},
		Members: []fleet.ClusterSpec{{Name: "one", APIServerOnly: true}, {Name: "two", APIServerOnly: true}},
	}})
	h.api = admin(t, h.Fleet.Hub())
	both := shipped(t)
	secondVersion(both)
	define(t, h.Fleet.Member("two"), both)
	h.StartHub(t)
	h.Register(t, "one", "two")
	h.app.Spec.Replicas, h.mark = new(int32(2)), h.Mark(t)
	h.Create(t, h.app)
	h.awaitCopies(t, "shop:v1")

	const served, migrated = "served beside the first", "stored versions migrated"
	var steps framework.Steps
	steps.Add(served, h.testServed)
	steps.Add("fields keep their managers", h.testManagers, served)
	steps.Add(migrated, h.testMigrated, served)
	steps.Add("the webhook is away", h.testWebhookAway, migrated)
	steps.Add("the first removed", h.testRemoved, migrated)
	steps.Run(t)
}

// awaitCopies blocks until the members have copies with an image that the hub has written once since the image before,
// as v1, and so without a write because of a conversion. A write that competed with a status was refused, and is none.
func (h *hub) awaitCopies(t *testing.T, image string) {
	t.Helper()
	for name, member := range h.Members {
		framework.Await(t, member, h.app.DeepCopy(), "the copy in "+name, func(copied *v1.EcommerceApp) error {
			written := h.Since(t, h.mark, h.Fleet.Member(name)).Writes().Succeeded().Of("ecommerceapps").In(namespace).Where(
				func(e audit.Event) bool { return e.Subresource == "" })
			if copied.Spec.Image != image || ptr.Deref(copied.Spec.Replicas, 0) != 2 || len(written) != 1 || written[0].Version != "v1" {
				return fmt.Errorf("%w: %q, written by\n%s", errDiffers, copied.Spec.Image, written)
			}
			return nil
		})
	}
	h.mark = h.Mark(t)
}

// setImage changes the image of the shop as v2.
func (h *hub) setImage(t *testing.T, image string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"images":{"default":%q}}}`, image))
	if err := h.api.Patch(t.Context(), object(t, apiV2, h.app.Name, "{}"), patch); err != nil {
		t.Fatal(err)
	}
}

// specs returns the specs of all applications as a version, by name.
func (h *hub) specs(t *testing.T, apiVersion string) map[string]any {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": "EcommerceAppList"}}
	if err := h.api.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	for _, each := range list.Items {
		found[each.GetName()] = each.Object["spec"]
	}
	return found
}

// awaitSpec blocks until an application has a spec as a version.
func (h *hub) awaitSpec(t *testing.T, apiVersion, name, spec string) {
	t.Helper()
	framework.Eventually(t, "the spec as "+apiVersion, func(ctx context.Context) error { return h.api.check(ctx, t, apiVersion, name, spec) })
}

// testServed serves v2 by the webhook: objects of v1 are read and written as v2, and watched as v1. The members are
// left as they are.
func (h *hub) testServed(t *testing.T) {
	t.Helper()
	framework.Edit(t, h.api, named(), func(definition *apiextensionsv1.CustomResourceDefinition) {
		secondVersion(definition)
		definition.Spec.Conversion = h.webhook.conversion()
	})
	placement := `"placement":{"clusterNames":["one","two"]}}`
	h.awaitSpec(t, apiV2, h.app.Name, `{"images":{"default":"shop:v1"},"replicas":{"default":2},`+placement)
	watch, err := h.Hub.Watch(t.Context(), &v1.EcommerceAppList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	h.setImage(t, "shop:v2")
	seen := ""
	for event := range watch.ResultChan() {
		if app, ok := event.Object.(*v1.EcommerceApp); ok {
			seen = app.Spec.Image
		}
		if seen == "shop:v2" {
			break
		}
	}
	if seen != "shop:v2" {
		t.Errorf("the watch of v1 ended with %q", seen)
	}
	h.awaitCopies(t, "shop:v2")
	for name, versions := range map[string]int{"one": 1, "two": 2} {
		definition := named()
		if err := admin(t, h.Fleet.Member(name)).Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			t.Fatal(err)
		}
		if got := definition.Spec.Conversion.Strategy; got != apiextensionsv1.NoneConverter || len(definition.Spec.Versions) != versions {
			t.Errorf("%s has %d versions and strategy %s", name, len(definition.Spec.Versions), got)
		}
	}
	h.awaitSpec(t, apiV1, h.app.Name, `{"image":"shop:v2","replicas":2,`+placement)
	got := object(t, apiV2, h.app.Name, "{}")
	framework.Await(t, h.api, got, "the status that the hub writes as v1", func(*unstructured.Unstructured) error {
		if seen, _, _ := unstructured.NestedInt64(got.Object, "status", "observedGeneration"); seen != got.GetGeneration() {
			return fmt.Errorf("%w: of generation %d", errDiffers, seen)
		}
		return nil
	})
}

// testManagers applies a spec by two managers as two versions: each has the fields that it applied, in both.
func (h *hub) testManagers(t *testing.T) {
	t.Helper()
	framework.Create(t, h.Hub, framework.Small(namespace, "managed", "nowhere"))
	for _, step := range []struct{ manager, apiVersion, spec, conflict string }{
		{"gitops", apiV2, `{"images":{"default":"shop:v3"}}`, `using ecommerce.io/v1`},
		{"gitops", apiV1, `{"image":"shop:v1","replicas":3}`, ""},
		{"other", apiV2, `{"replicas":{"default":4}}`, `conflict with "gitops": .spec.replicas`},
		{"gitops", apiV2, `{"images":{"default":"shop:v1"},"replicas":{"default":5}}`, ""},
		{"other", apiV1, `{"replicas":4}`, `conflict with "gitops": .spec.replicas.default`},
		{"gitops", apiV1, `{"image":"shop:v1"}`, ""},
	} {
		intent := client.ApplyConfigurationFromUnstructured(object(t, step.apiVersion, "managed", step.spec))
		err := h.api.Apply(t.Context(), intent, client.FieldOwner(step.manager))
		if step.conflict == "" && err != nil || step.conflict != "" && (!apierrors.IsConflict(err) || !strings.Contains(err.Error(), step.conflict)) {
			t.Errorf("%s applies %s of %s: %v, want %q", step.manager, step.spec, step.apiVersion, err, step.conflict)
		}
	}
	// Replicas were applied by one manager, which left them out.
	h.awaitSpec(t, apiV2, "managed", `{"images":{"default":"shop:v1"},"placement":{"clusterNames":["nowhere"]}}`)
}

// testMigrated stores v2: each object is written again by an empty patch, and none changes.
func (h *hub) testMigrated(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		app := framework.Small(namespace, fmt.Sprintf("random-%d", i), "nowhere")
		app.Spec.Image = fmt.Sprintf("r%x.example.com/shop:v%d", random.Uint64(), i)
		if random.IntN(2) == 0 {
			app.Spec.Replicas = new(random.Int32N(1001))
		}
		if random.IntN(3) == 0 {
			app.Spec.Image, app.Spec.Frontend.Image = "", app.Spec.Image
		}
		framework.Create(t, h.Hub, app)
	}
	asV1, asV2 := h.specs(t, apiV1), h.specs(t, apiV2)
	definition := named()
	framework.Edit(t, h.api, definition, storeV2)
	before := definition.DeepCopy()
	definition.Spec.Versions = definition.Spec.Versions[1:]
	if err := h.api.Patch(t.Context(), definition, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "status.storedVersions[0]: Invalid value: \"v1\"") {
		t.Errorf("v1 is removed while objects are stored in it: %v", err)
	}
	// The API server notices the change of the definition a moment later.
	framework.Eventually(t, "all objects to be stored in v2", func(ctx context.Context) error {
		for name := range asV1 {
			if err := h.api.Patch(ctx, object(t, apiV1, name, "{}"), client.RawPatch(types.MergePatchType, []byte("{}"))); err != nil {
				return err
			}
		}
		return h.checkStored(ctx, len(asV1))
	})
	if diff := cmp.Diff(asV1, h.specs(t, apiV1)); diff != "" {
		t.Errorf("as v1, migration changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(asV2, h.specs(t, apiV2)); diff != "" {
		t.Errorf("as v2, migration changed (-before +after):\n%s", diff)
	}
	stored := client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["v2"]}}`))
	if err := h.api.Status().Patch(t.Context(), named(), stored); err != nil {
		t.Fatal(err)
	}
	h.setImage(t, "shop:v4")
	h.awaitCopies(t, "shop:v4")
}

// checkStored returns an error unless etcd has a number of applications, all in v2.
func (h *hub) checkStored(ctx context.Context, want int) error {
	stored, err := h.Fleet.Hub().Stored(ctx, "/registry/ecommerce.io/ecommerceapps/")
	if err != nil {
		return err
	}
	if len(stored) != want {
		return fmt.Errorf("%w: %d are stored, want %d", errDiffers, len(stored), want)
	}
	for key, raw := range stored {
		kind := metav1.TypeMeta{}
		if err := json.Unmarshal(raw, &kind); err != nil {
			return fmt.Errorf("decoding %s: %w", key, err)
		}
		if kind.APIVersion != apiV2 {
			return fmt.Errorf("%w: %s is stored as %q", errDiffers, key, kind.APIVersion)
		}
	}
	return nil
}

// testWebhookAway takes the webhook away: what is stored in v2 cannot be read as v1, the members keep their copies, and
// the hub goes on when it is back.
func (h *hub) testWebhookAway(t *testing.T) {
	t.Helper()
	h.webhook.down.Store(true)
	err := h.Hub.Get(t.Context(), client.ObjectKeyFromObject(h.app), &v1.EcommerceApp{})
	if err == nil || !strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("reading as v1: %v", err)
	}
	if err := h.api.Get(t.Context(), client.ObjectKeyFromObject(h.app), object(t, apiV2, h.app.Name, "{}")); err != nil {
		t.Errorf("reading as v2: %v", err)
	}
	refused := h.webhook.refused.Load()
	h.setImage(t, "shop:v5")
	framework.Eventually(t, "the watches of v1 to fail", func(context.Context) error {
		if h.webhook.refused.Load() == refused {
			return errUnavailable
		}
		return nil
	})
	h.webhook.down.Store(false)
	h.awaitCopies(t, "shop:v5")
}

// testRemoved removes v1 from the definition, which the hub of today does not survive: all objects remain.
func (h *hub) testRemoved(t *testing.T) {
	t.Helper()
	h.StopHub()
	before := h.specs(t, apiV2)
	framework.Edit(t, h.api, named(), func(definition *apiextensionsv1.CustomResourceDefinition) {
		definition.Spec.Versions = definition.Spec.Versions[1:]
		definition.Spec.Conversion = nil
	})
	framework.Eventually(t, "v1 to be gone", func(ctx context.Context) error {
		err := h.Hub.List(ctx, &v1.EcommerceAppList{})
		if err == nil {
			return fmt.Errorf("%w: v1 is served", errDiffers)
		}
		return client.IgnoreNotFound(err)
	})
	if diff := cmp.Diff(before, h.specs(t, apiV2)); diff != "" {
		t.Errorf("specs after v1 was removed (-before +after):\n%s", diff)
	}
}
