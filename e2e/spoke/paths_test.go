package spoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// pathsVariable is the environment variable with the number of edits, of all applications
	// together.
	pathsVariable = "SHOPFLEET_PATHS"
	// pathsSeedVariable is the environment variable with the seed of the edits. The default
	// changes every day.
	pathsSeedVariable = "SHOPFLEET_PATHS_SEED"
)

// testPaths edits random applications step by step, often before the last edit is rolled out, and
// compares the objects of each in the end with those of a new application of the same spec.
func testPaths(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		const longest = 20 // Edits of one application.
		edits, seed := 10, fleettest.Seed(t, pathsSeedVariable)
		if text := os.Getenv(pathsVariable); text != "" {
			var err error
			if edits, err = strconv.Atoi(text); err != nil || edits < 1 {
				t.Fatalf("%s is %q, want the number of edits", pathsVariable, text)
			}
		}
		t.Logf("replay with %s=%d %s=%d go test -run 'TestSerial/paths' ./e2e/spoke", pathsVariable, edits, pathsSeedVariable, seed)
		w.defineOptionalKinds(t, retry.Waits{Longest: longestWait})
		paths := max(2, (edits+longest-1)/longest)
		for i := range paths {
			p := &path{environment: w, random: rand.New(rand.NewPCG(seed, uint64(i)))}
			p.app, p.fresh = apitest.RandomFullApp(p.random), w.namespace(t)
			p.app.Namespace, p.app.Name = w.namespace(t), "shop"
			limit(p.app)
			w.expectReplaced(p.app)
			for _, generated := range []string{"shop-tls", "shop-oauth2-proxy"} {
				w.env.ExpectDeletes(invariants.Expected{Resource: "secrets", Namespace: p.app.Namespace, Name: generated})
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				p.walk(t, edits/paths+min(1, max(0, edits%paths-i)))
			})
		}
	}
}

// path edits one application.
type path struct {
	*environment
	random *rand.Rand
	app    *v1.EcommerceApp
	// fresh is the namespace of the new application that the edited one is compared with.
	fresh string
}

// createCredentials creates the Secrets that a random application may refer to. They differ in their
// passwords only, since the data belongs to the user, so that one in place of another is a rotation.
func (p *path) createCredentials(t *testing.T) {
	t.Helper()
	for _, namespace := range []string{p.app.Namespace, p.fresh} {
		for _, name := range []string{"credentials", "credentials-0", "credentials-1", "credentials-2"} {
			framework.Create(t, p, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				StringData: map[string]string{"username": "shop", "password": "pw-" + name + "-" + namespace, "database": "shop"},
			})
		}
	}
}

// walk edits the application and compares its objects with those of a new one.
func (p *path) walk(t *testing.T, edits int) {
	t.Helper()
	var fields []string
	defer func() {
		if t.Failed() {
			t.Logf("edits of %s; the spec is now %s", strings.Join(fields, ", "), encode(p.app.Spec))
		}
	}()
	restarted := maps.Clone(p.app.Annotations)
	p.createCredentials(t)
	framework.Create(t, p, p.app)
	p.awaitObserved(t)
	for range edits {
		next, field := p.edit()
		fields = append(fields, field)
		framework.Edit(t, p, p.app, func(app *v1.EcommerceApp) { app.Spec = next.Spec })
		p.awaitObserved(t)
	}
	fresh := &v1.EcommerceApp{Spec: p.app.Spec}
	fresh.Namespace, fresh.Name, fresh.Annotations = p.fresh, p.app.Name, restarted
	framework.Create(t, p, fresh)
	p.awaitRunning(t, fresh)
	p.awaitRunning(t, p.app)
	framework.Eventually(t, "the objects to be those of a new application", func(ctx context.Context) error {
		lived, err := p.objects(ctx, p.app)
		if err != nil {
			return err
		}
		want, err := p.objects(ctx, fresh)
		if err != nil {
			return err
		}
		return compare(lived, want)
	})
	for _, app := range []*v1.EcommerceApp{p.app, fresh} { // Otherwise the pods of later subtests cannot be scheduled.
		if err := p.Delete(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
}

// edit returns the application after another edit, and the field that it changes.
func (p *path) edit() (*v1.EcommerceApp, string) {
	for {
		next := p.app.DeepCopy()
		field := apitest.RandomEdit(p.random, next)
		limit(next)
		if !equality.Semantic.DeepEqual(next.Spec, p.app.Spec) && !withdrawsPassword(p.app.Spec.Database, next.Spec.Database) {
			return next, field
		}
	}
}

// withdrawsPassword reports whether an edit takes away the reference to the Secret with the password
// that the data depends on. The spoke does not generate another then.
func withdrawsPassword(from, to *v1.Database) bool {
	return from != nil && from.CredentialsSecretRef != nil && to.CredentialsSecretRef == nil
}

// awaitObserved waits until the spoke has seen the spec, which may not be rolled out then.
func (p *path) awaitObserved(t *testing.T) {
	t.Helper()
	framework.Await(t, p, p.app, "the edit to be observed", framework.Observed)
}

// limit bounds the number of pods, and takes the default class of volumes, as the cluster has no other.
func limit(app *v1.EcommerceApp) {
	const most = 2
	lower := func(n *int32) {
		if n != nil {
			*n = min(*n, most)
		}
	}
	lower(app.Spec.Replicas)
	for _, w := range []*v1.Workload{&app.Spec.Backend, &app.Spec.Frontend} {
		lower(w.Replicas)
		if w.Autoscaling != nil {
			lower(&w.Autoscaling.MinReplicas)
		}
	}
	if db := app.Spec.Database; db != nil {
		db.StorageClassName = nil
		lower(db.Replicas)
	}
}

// optionalKinds returns the kinds that the spoke applies where they are defined.
func optionalKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	}
}

// objects returns the objects of an application, whose namespace has no other, without what an API
// server sets and what differs between namespaces. The keys are kinds and names.
func (p *path) objects(ctx context.Context, app *v1.EcommerceApp) (map[string]map[string]any, error) {
	kinds := optionalKinds()
	for _, list := range childLists() {
		kind, err := p.GroupVersionKindFor(list)
		if err != nil {
			return nil, err
		}
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		kinds = append(kinds, kind)
	}
	all := map[string]map[string]any{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := p.List(ctx, list, client.InNamespace(app.Namespace), client.MatchingLabels{v1.ManagedByLabel: v1.ManagedBy}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			object, err := comparableContent(&list.Items[i], app)
			if err != nil {
				return nil, err
			}
			all[kind.Kind+" "+anyTemplate(&list.Items[i], list.Items[i].GetName())] = object
		}
	}
	return all, nil
}

// anyTemplate returns a text about an object without the hash of its pods, which has what is not compared.
func anyTemplate(object client.Object, text string) string {
	if hash := object.GetLabels()[v1.PodTemplateLabel]; hash != "" {
		return strings.ReplaceAll(text, hash, "TEMPLATE")
	}
	return text
}

// comparableContent returns the content of an object that does not depend on its namespace or the time.
func comparableContent(object *unstructured.Unstructured, app *v1.EcommerceApp) (map[string]any, error) {
	owned, err := ownedPaths(object)
	if err != nil {
		return nil, err
	}
	content := object.Object
	if object.GetKind() == "Secret" { // Its values may be generated.
		data, _ := content["data"].(map[string]any)
		content["data"] = slices.Sorted(maps.Keys(data))
	}
	if !controlled(object) { // It stays, with the labels that it was created with.
		content = map[string]any{"spec": content["spec"], "data": content["data"]}
		if object.GetName() == app.Name+"-database-backup" { // As large as the database was at first.
			unstructured.RemoveNestedField(content, "spec", "resources")
		}
	} else if !slices.ContainsFunc(owned, func(path fieldPath) bool { return path.String() == "spec.replicas" }) {
		unstructured.RemoveNestedField(content, "spec", "replicas") // An autoscaler's.
	}
	for _, field := range []string{
		"status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields",
		"spec.volumeName", "spec.clusterIPs",
	} {
		unstructured.RemoveNestedField(content, strings.Split(field, ".")...)
	}
	if ip, _, _ := unstructured.NestedString(content, "spec", "clusterIP"); ip != "None" {
		unstructured.RemoveNestedField(content, "spec", "clusterIP")
	}
	for _, key := range []string{v1.SpecHashAnnotation, "deployment.kubernetes.io/revision"} {
		unstructured.RemoveNestedField(content, "metadata", "annotations", key)
	}
	// A new application has not changed its password yet, nor got a database later than its backend. What is noted of the
	// backend's pods follows from that too.
	if object.GetLabels()[v1.ComponentLabel] == render.Backend {
		unstructured.RemoveNestedField(content, "metadata", "annotations", v1.RenderedAnnotation)
	}
	annotations := []string{"spec", "template", "metadata", "annotations"}
	unstructured.RemoveNestedField(content, append(slices.Clone(annotations), database.RotationAnnotation)...)
	if left, _, _ := unstructured.NestedMap(content, annotations...); len(left) == 0 {
		unstructured.RemoveNestedField(content, annotations...)
	}
	encoded := anyTemplate(object, encode(content))
	var result map[string]any
	text := strings.NewReplacer(
		app.Namespace, "NAMESPACE", string(app.UID), "UID", objectparts.Hash(app.Namespace, app.Name), "HASH",
	).Replace(encoded)
	return result, json.Unmarshal([]byte(text), &result)
}

// compare returns an error unless both applications have the same objects. Objects without an owner,
// which are data and credentials, stay.
func compare(lived, fresh map[string]map[string]any) error {
	var all []error
	for key, has := range lived {
		if _, owned := has["metadata"]; owned && fresh[key] == nil {
			all = append(all, fmt.Errorf("%s is left", key))
		}
	}
	for key, want := range fresh {
		if has, exists := lived[key]; !exists {
			all = append(all, fmt.Errorf("%s is missing", key))
		} else if diff := cmp.Diff(want, has); diff != "" {
			all = append(all, fmt.Errorf("%s (-fresh +edited):\n%s", key, diff))
		}
	}
	return errors.Join(all...)
}
