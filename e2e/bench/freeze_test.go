package bench_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// measureFreeze freezes the API server of a member, edits all applications meanwhile, and lets it
// return. A status is truthful that is not stale, and all are when the copies have the edits as
// well. There is no baseline: what it takes is a matter of probes, and not of work.
func (f *fixture) measureFreeze(b *testing.B) {
	b.Helper()
	r, m := f.burst(b), f.members[len(f.members)-1]
	in := func(app *v1.EcommerceApp) v1.ClusterStatus { return framework.Cluster(&app.Status, m.Name()) }
	from := f.Mark(b)
	began := time.Now()
	if err := m.Freeze(b.Context(), fleet.APIServer); err != nil {
		b.Fatal(err)
	}
	f.awaitAll(b, burstNamespace, r.shops, func(app *v1.EcommerceApp) bool { return in(app).Stale })
	_, unknown := reports(b, from.By(b, f.hub.Cluster, hubAccount).Since(began), func(app *v1.EcommerceApp) bool { return in(app).Stale })
	var all []client.Object
	for i := range r.shops {
		all = append(all, f.shop(burstNamespace, fmt.Sprintf("shop-%d", i)))
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"database":{"backup":{"schedule":"30 4 * * *"}}}}`))
	f.atOnce(b, all, func(o client.Object) error { return f.Hub.Patch(b.Context(), o, patch) })
	thawed := time.Now()
	if err := m.Thaw(b.Context()); err != nil {
		b.Fatal(err)
	}
	truthful := func(app *v1.EcommerceApp) bool {
		return !in(app).Stale && in(app).Ready && in(app).AppliedGeneration == app.Generation
	}
	f.awaitAll(b, burstNamespace, r.shops, truthful)
	log := from.By(b, f.hub.Cluster, hubAccount).Since(thawed)
	first, _ := reports(b, log, func(app *v1.EcommerceApp) bool { return !in(app).Stale })
	_, last := reports(b, log, truthful)
	copies := lastOf(from.By(b, m.Cluster, hubAccount).Since(thawed).Where(request{verb: "patch", resource: apps().Resource, namespace: burstNamespace}.matches))
	f.value(b, fmt.Sprintf("member frozen → its %d shops Unknown", r.shops), "%s", seconds(unknown.Sub(began)))
	f.value(b, "member thawed → first truthful status", "%s", seconds(first.Sub(thawed)))
	f.value(b, "member thawed → last pending copy", "%s", seconds(copies.Sub(thawed)))
	f.value(b, "member thawed → all truthful and ready", "%s", seconds(last.Sub(thawed)))
}

// reports returns when the first and when the last application was first reported as check says.
func reports(b *testing.B, log audit.Log, check func(*v1.EcommerceApp) bool) (first, last time.Time) {
	b.Helper()
	seen := map[string]bool{}
	for _, e := range log.Of(apps().Resource).In(burstNamespace) {
		if e.Object == "" || seen[e.Name] {
			continue
		}
		app := &v1.EcommerceApp{}
		if err := json.Unmarshal([]byte(e.Object), app); err != nil {
			b.Fatal(err)
		}
		if !check(app) {
			continue
		}
		seen[e.Name] = true
		if first.IsZero() || e.Completed.Before(first) {
			first = e.Completed
		}
		if e.Completed.After(last) {
			last = e.Completed
		}
	}
	return first, last
}
