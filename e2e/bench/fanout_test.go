package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// rounds is how often the baseline is measured.
	rounds = 20
	// warmup is how often the hub runs a shop before it is measured.
	warmup = 3
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// BenchmarkFanOut reports the median time of a fan-out, that of the baseline, and
// the ratio of the two.
func BenchmarkFanOut(b *testing.B) {
	r := newFixture(b)
	var baseline, fanout []time.Duration
	for i := range rounds {
		baseline = append(baseline, r.loop(b, fmt.Sprintf("loop-%d", i)))
	}
	r.StartHub(b)
	for _, c := range r.Fleet.Clusters()[1:] {
		r.Register(b, c.Name())
		r.AwaitMembers(b, c.Name())
	}
	for i := range warmup {
		r.fanOut(b, fmt.Sprintf("warm-%d", i))
	}
	n := 0
	for b.Loop() {
		fanout = append(fanout, r.fanOut(b, fmt.Sprintf("shop-%d", n)))
		n++
	}
	b.ReportMetric(milliseconds(median(baseline)), "ms-baseline")
	b.ReportMetric(milliseconds(median(fanout)), "ms-fanout")
	b.ReportMetric(float64(median(fanout))/float64(median(baseline)), "x-baseline")
}

// fixture is a fleet to measure on.
type fixture struct {
	*framework.Environment
	hub     dynamic.Interface
	members []dynamic.Interface
	shop    []byte
}

func newFixture(b *testing.B) *fixture {
	b.Helper()
	crds := []string{framework.MemberManifests, "config/crd/bases"}
	r := &fixture{Environment: framework.New(b, framework.Options{
		Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: "hub"},
			Members: []fleet.ClusterSpec{
				{Name: "asia-1", Provider: fleet.Azure, Region: "southeastasia", Nodes: 2},
				{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 2},
				{Name: "us-1", Provider: fleet.GCP, Region: "us-central1", Nodes: 2},
			},
		},
		Manifests: map[string][]string{"asia-1": crds, "eu-1": crds, "us-1": crds},
	})}
	for _, c := range r.Fleet.Clusters() {
		d, err := dynamic.NewForConfig(c.AdminConfig())
		if err != nil {
			b.Fatal(err)
		}
		if c == r.Fleet.Hub() {
			r.hub = d
		} else {
			r.members = append(r.members, d)
		}
	}
	shop, err := yaml.YAMLToJSON(samples.EcommerceApp())
	if err != nil {
		b.Fatal(err)
	}
	r.shop = shop
	return r
}

func apps() schema.GroupVersionResource { return v1.GroupVersion.WithResource("ecommerceapps") }

func namespaces() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("namespaces")
}

// loop is the baseline: one apply after the other. It cleans up after the clock stopped.
func (r *fixture) loop(b *testing.B, namespace string) time.Duration {
	b.Helper()
	r.apply(b, r.hub, namespaces(), "", namespaceNamed(namespace))
	name, shop, copied := r.rendered(b, namespace)
	began := time.Now()
	r.apply(b, r.hub, apps(), namespace, object{name, shop})
	for _, m := range r.members {
		r.apply(b, m, namespaces(), "", namespaceNamed(namespace))
		r.apply(b, m, apps(), namespace, object{name, copied})
	}
	took := time.Since(began)
	for _, c := range append([]dynamic.Interface{r.hub}, r.members...) {
		r.remove(b, c, namespace, name)
	}
	return took
}

// object is a name and the bytes to apply.
type object struct {
	name string
	raw  []byte
}

func namespaceNamed(name string) object {
	return object{name, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{%q:%q}}}`,
		name, v1.ManagedByLabel, v1.ManagedBy)}
}

func (r *fixture) apply(b *testing.B, c dynamic.Interface, what schema.GroupVersionResource, namespace string, o object) {
	b.Helper()
	force := true
	_, err := c.Resource(what).Namespace(namespace).Patch(b.Context(), o.name, types.ApplyPatchType, o.raw,
		metav1.PatchOptions{FieldManager: v1.HubFieldManager, Force: &force})
	if err != nil {
		b.Fatal(err)
	}
}

func (r *fixture) remove(b *testing.B, c dynamic.Interface, namespace, name string) {
	b.Helper()
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := c.Resource(apps()).Namespace(namespace).Patch(b.Context(), name, types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		b.Fatal(err)
	}
	if err := c.Resource(apps()).Namespace(namespace).Delete(b.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
}

// rendered returns the seed's shop in a namespace, and a copy of it as the hub makes one.
func (r *fixture) rendered(b *testing.B, namespace string) (name string, shop, copied []byte) {
	b.Helper()
	app := map[string]any{}
	if err := json.Unmarshal(r.shop, &app); err != nil {
		b.Fatal(err)
	}
	metadata, ok := app["metadata"].(map[string]any)
	if !ok {
		b.Fatal("the sample has no metadata")
	}
	metadata["namespace"] = namespace
	name, _ = metadata["name"].(string)
	shop = encode(b, app)
	metadata["finalizers"] = []string{v1.SpokeFinalizer}
	metadata["labels"] = map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: "eu-1"}
	metadata["annotations"] = map[string]string{
		v1.HubAppUIDAnnotation: "00000000-0000-0000-0000-000000000000", v1.HubGenerationAnnotation: "1",
		v1.SpecHashAnnotation: "0000000000000000000000000000000000000000000000000000000000000000",
	}
	return name, shop, encode(b, app)
}

func encode(b *testing.B, value any) []byte {
	b.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// fanOut measures from the creation of a shop until each member has its copy.
func (r *fixture) fanOut(b *testing.B, namespace string) time.Duration {
	b.Helper()
	r.apply(b, r.hub, namespaces(), "", namespaceNamed(namespace))
	name, shop, _ := r.rendered(b, namespace)
	var group sync.WaitGroup
	ctx, cancel := context.WithTimeout(b.Context(), fleettest.Timeout)
	defer cancel()
	for _, m := range r.members {
		w, err := m.Resource(apps()).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		group.Go(func() {
			defer w.Stop()
			awaitCopy(ctx, b, w)
		})
	}
	began := time.Now()
	r.apply(b, r.hub, apps(), namespace, object{name, shop})
	group.Wait()
	took := time.Since(began)
	if b.Failed() {
		b.FailNow()
	}
	r.retire(ctx, b, namespace, name)
	return took
}

func awaitCopy(ctx context.Context, b *testing.B, w watch.Interface) {
	b.Helper()
	select {
	case event := <-w.ResultChan():
		if event.Type != watch.Added {
			b.Errorf("watching for the copy: %v", event)
		}
	case <-ctx.Done():
		b.Error("the copy did not come")
	}
}

// retire deletes a shop and waits until it is gone, so that the next one has the
// machine to itself.
func (r *fixture) retire(ctx context.Context, b *testing.B, namespace, name string) {
	b.Helper()
	w, err := r.hub.Resource(apps()).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	if err := r.hub.Resource(apps()).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	for event := range w.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	b.Fatal("the shop did not go")
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
