package bench_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// repairedNamespace contains a Service that the bare repairer keeps as it is.
const repairedNamespace = "bare-drift"

func services() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("services")
}

// measureDrift measures from a request that deletes or edits a Service of an application in a member
// until the response to the write that repairs it.
func (f *fixture) measureDrift(b *testing.B) {
	b.Helper()
	shop, m := f.steadyShop(b), f.members[0]
	list := &corev1.ServiceList{}
	if err := m.admin.List(b.Context(), list, client.InNamespace(shop.Namespace), client.MatchingLabels{v1.ComponentLabel: render.Frontend}); err != nil {
		b.Fatal(err)
	}
	if len(list.Items) == 0 {
		b.Fatal("the frontend has no Service")
	}
	service := &list.Items[0]
	f.startRepairer(b, m, service)
	for _, drift := range []drift{
		{"deleted", func(b *testing.B, service *corev1.Service, _ int) error {
			b.Helper()
			return m.admin.Delete(b.Context(), service)
		}, func(before *corev1.Service) func(*unstructured.Unstructured) bool {
			return func(now *unstructured.Unstructured) bool { return now.GetUID() != before.UID }
		}},
		{"edited", func(b *testing.B, service *corev1.Service, round int) error {
			b.Helper()
			// The hub does not repair one field again and again.
			label := []string{v1.NameLabel, v1.PartOfLabel}[round%2]
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, label, drifted)
			return m.admin.Patch(b.Context(), service, client.RawPatch(types.MergePatchType, patch))
		}, func(*corev1.Service) func(*unstructured.Unstructured) bool {
			seen := false
			return func(now *unstructured.Unstructured) bool {
				seen = seen || hasDrifted(now)
				return seen && !hasDrifted(now)
			}
		}},
	} {
		in := func(name, namespace string, by side) subject {
			return subject{name, func(b *testing.B, round int) time.Duration {
				b.Helper()
				return f.repair(b, request{user: by.user, resource: services().Resource, namespace: namespace, name: service.Name}, drift, round)
			}}
		}
		f.compare(b, "a Service is "+drift.name+" in a member → repaired, p50 / p99",
			in("hub", shop.Namespace, hubSide()), in("bare repairer", repairedNamespace, bareSide()))
	}
}

// drift is a way to change a Service. The function repaired returns one that reports whether the
// Service is repaired, for each of its states.
type drift struct {
	name     string
	change   func(b *testing.B, service *corev1.Service, round int) error
	repaired func(before *corev1.Service) func(now *unstructured.Unstructured) bool
}

// repair changes a Service in the first member, and returns the time to the response to the request by
// which it is repaired.
func (f *fixture) repair(b *testing.B, by request, d drift, round int) time.Duration {
	b.Helper()
	m, service, key := f.members[0], &corev1.Service{}, client.ObjectKey{Namespace: by.namespace, Name: by.name}
	if err := m.admin.Get(b.Context(), key, service); err != nil {
		b.Fatal(err)
	}
	from, repaired := f.Mark(b), d.repaired(service.DeepCopy())
	wait := m.await(b, services(), key.Namespace, func(now *unstructured.Unstructured) bool {
		return now.GetName() == key.Name && repaired(now)
	})
	if err := d.change(b, service, round); err != nil {
		b.Fatal(err)
	}
	wait()
	log := audit.Log{}
	within(b, "the log of "+m.Name(), func() (bool, string) {
		// A watch may tell of the repair before its response is complete.
		log = from.Since(b, m.Cluster)
		return len(log.Writes().Where(by.matches)) > 0, fmt.Sprintf("it has no request as %+v", by)
	})
	drifted := request{resource: by.resource, namespace: by.namespace, name: by.name}
	return by.first(b, log.Writes()).Completed.Sub(drifted.first(b, log.Writes()).Received)
}

// startRepairer creates a Service as the hub's in another namespace of a member, and applies it
// whenever it is deleted or drifts.
func (f *fixture) startRepairer(b *testing.B, m *cluster, like *corev1.Service) {
	b.Helper()
	framework.CreateNamespace(b, m.admin, repairedNamespace)
	raw := encode(b, map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{
			"namespace": repairedNamespace, "name": like.Name, "annotations": like.Annotations,
			"labels": map[string]string{
				v1.NameLabel: like.Labels[v1.NameLabel], v1.PartOfLabel: like.Labels[v1.PartOfLabel], v1.ManagedByLabel: bareAccount,
			},
		},
		"spec": map[string]any{"ports": like.Spec.Ports, "selector": like.Spec.Selector},
	})
	want := object{like.Name, raw}
	m.follow(b, services(), repairedNamespace, func(event watch.Event, s *unstructured.Unstructured) {
		if event.Type == watch.Deleted || hasDrifted(s) {
			m.apply(b, services(), repairedNamespace, want)
		}
	})
	m.apply(b, services(), repairedNamespace, want)
}

// drifted is the value of labels that were edited.
const drifted = "drifted"

func hasDrifted(o *unstructured.Unstructured) bool {
	return o.GetLabels()[v1.NameLabel] == drifted || o.GetLabels()[v1.PartOfLabel] == drifted
}
