package bench_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/framework"
)

// measureEdit measures from an edit of an application on the hub until all copies have it. The edit
// is of the schedule of the backups, which restarts no pods.
func (f *fixture) measureEdit(b *testing.B) {
	b.Helper()
	shop := f.steadyShop(b)
	bare := func(name, prefix string) subject {
		app := bareOf(b, f.shop(prefix+"edit", "shop"))
		framework.CreateNamespace(b, f.Hub, app.GetNamespace())
		copied := f.awaitCopies(b, bareApps(), app.GetNamespace(), anything)
		if err := f.Hub.Create(b.Context(), app); err != nil {
			b.Fatal(err)
		}
		copied()
		return subject{name, func(b *testing.B, round int) time.Duration {
			b.Helper()
			return f.edit(b, app, bareSide(), round)
		}}
	}
	hub := subject{"hub", func(b *testing.B, round int) time.Duration {
		b.Helper()
		took := f.edit(b, shop, hubSide(), round)
		f.steadyShop(b)
		return took
	}}
	f.compare(b, fmt.Sprintf("edit → %d copies, p50 / p99", len(f.members)), hub, bare("bare writer", "bare-"), bare("bare writer, one hub write first", aheadPrefix))
}

// edit edits an application and returns the time to its copies.
func (f *fixture) edit(b *testing.B, app client.Object, by side, round int) time.Duration {
	b.Helper()
	schedule := fmt.Sprintf("%d 3 * * *", round)
	edited := f.awaitCopies(b, by.apps, app.GetNamespace(), func(copied *unstructured.Unstructured) bool {
		got, _, err := unstructured.NestedString(copied.Object, "spec", "database", "backup", "schedule")
		return err == nil && got == schedule
	})
	from := f.Mark(b)
	patch := fmt.Appendf(nil, `{"spec":{"database":{"backup":{"schedule":%q}}}}`, schedule)
	object, ok := app.DeepCopyObject().(client.Object)
	if !ok {
		b.Fatal("not an object")
	}
	if err := f.Hub.Patch(b.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		b.Fatal(err)
	}
	edited()
	return f.span(b, from,
		request{verb: "patch", resource: by.apps.Resource, namespace: app.GetNamespace()},
		request{user: by.user, verb: "patch", resource: by.apps.Resource, namespace: app.GetNamespace()})
}
