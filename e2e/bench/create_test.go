package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/framework"
)

// measureCreate measures from the creation of an application on the hub until all members have a copy.
func (f *fixture) measureCreate(b *testing.B) {
	b.Helper()
	f.compare(b, fmt.Sprintf("create → %d copies, p50 / p99", len(f.members)),
		subject{"hub", f.createShop},
		subject{"bare writer", func(b *testing.B, round int) time.Duration { b.Helper(); return f.createBare(b, "bare-", round) }},
		subject{"bare writer, one hub write first", func(b *testing.B, round int) time.Duration {
			b.Helper()
			return f.createBare(b, aheadPrefix, round)
		}},
	)
}

func (f *fixture) createShop(b *testing.B, round int) time.Duration {
	b.Helper()
	app := f.shop(fmt.Sprintf("create-%d", round), "shop")
	took := f.create(b, app, hubSide(), f.awaitCopies(b, apps(), app.Namespace, anything))
	f.Delete(b, app)
	f.awaitEmpty(b, app.Namespace)
	return took
}

func (f *fixture) createBare(b *testing.B, prefix string, round int) time.Duration {
	b.Helper()
	app := bareOf(b, f.shop(fmt.Sprintf("%screate-%d", prefix, round), "shop"))
	took := f.create(b, app, bareSide(), f.awaitCopies(b, bareApps(), app.GetNamespace(), anything))
	for _, c := range append(f.members, f.hub) {
		f.removeBare(b, c, app)
	}
	return took
}

func anything(*unstructured.Unstructured) bool { return true }

// create creates an application and returns the time to its copies, which copied waits for.
func (f *fixture) create(b *testing.B, app client.Object, by side, copied func()) time.Duration {
	b.Helper()
	framework.CreateNamespace(b, f.Hub, app.GetNamespace())
	from := f.Mark(b)
	if err := f.Hub.Create(b.Context(), app); err != nil {
		b.Fatal(err)
	}
	copied()
	return f.span(b, from,
		request{verb: "create", resource: by.apps.Resource, namespace: app.GetNamespace()},
		request{user: by.user, verb: "patch", resource: by.apps.Resource, namespace: app.GetNamespace(), code: 201})
}

// removeBare deletes an application of the baselines, or a copy of one, without its finalizers.
func (f *fixture) removeBare(b *testing.B, c *cluster, app client.Object) {
	b.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(bareGroup + "/v1")
	o.SetKind("EcommerceApp")
	o.SetNamespace(app.GetNamespace())
	o.SetName(app.GetName())
	if err := c.admin.Patch(b.Context(), o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		b.Fatal(err)
	}
	if err := client.IgnoreNotFound(c.admin.Delete(b.Context(), o)); err != nil {
		b.Fatal(err)
	}
}

// awaitEmpty blocks until no workload is left in a namespace of the members, so that what follows
// has the machine to itself.
func (f *fixture) awaitEmpty(b *testing.B, namespace string) {
	b.Helper()
	for _, m := range f.members {
		framework.Eventually(b, "the workloads to be gone", func(ctx context.Context) error {
			for _, kind := range []string{"Deployment", "StatefulSet", "Pod"} {
				list := &metav1.PartialObjectMetadataList{}
				list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
				if kind == "Pod" {
					list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
				}
				if err := m.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
					return err
				}
				if len(list.Items) > 0 {
					return fmt.Errorf("%d of kind %s are left in %s", len(list.Items), kind, m.Name())
				}
			}
			return nil
		})
	}
}
