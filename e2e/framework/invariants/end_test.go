package invariants_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// app returns an application of generation 3 that runs in eu-1.
func app(change func(*v1.EcommerceApp)) v1.EcommerceApp {
	a := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 3}}
	a.Status.ObservedGeneration, a.Status.Phase = 3, v1.PhaseRunning
	a.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Ready: true, AppliedGeneration: 3}}
	if change != nil {
		change(&a)
	}
	return a
}

// end returns the end of a hub that ran for 100 s.
func end(onHub v1.EcommerceApp, copies ...v1.EcommerceApp) *invariants.End {
	return &invariants.End{
		Since: time.Unix(0, 0), Until: time.Unix(100, 0), Hub: "hub", Apps: []v1.EcommerceApp{onHub},
		Members: map[string]invariants.Member{"eu-1": {Copies: copies}},
	}
}

func TestLostIntents(t *testing.T) {
	old := func(a *v1.EcommerceApp) { a.Status.ObservedGeneration = 2 }
	for name, test := range map[string]struct {
		edited int
		app    v1.EcommerceApp
		want   int
	}{
		"observed": {10, app(nil), 0},
		"lost":     {10, app(old), 1},
		"recent":   {80, app(old), 0},
		"rejected": {10, app(func(a *v1.EcommerceApp) {
			old(a)
			a.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, ObservedGeneration: 3}}
		}), 0},
		"lost in a member": {10, app(func(a *v1.EcommerceApp) { a.Status.Clusters[0].AppliedGeneration = 2 }), 1},
		"held up in a member": {10, app(func(a *v1.EcommerceApp) {
			a.Status.Clusters[0].AppliedGeneration, a.Status.Clusters[0].Reason = 2, "Paused"
		}), 0},
		"recent and in a member":  {90, app(func(a *v1.EcommerceApp) { a.Status.Clusters[0].AppliedGeneration = 2 }), 0},
		"the hub has not started": {-1, app(old), 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := end(test.app)
			if test.edited < 0 {
				e.Since = time.Time{}
			}
			logs := invariants.Logs{"hub": audit.Log{event(test.edited, user, "patch ecommerceapps shop/web"), event(99, hub, "patch ecommerceapps/status shop/web")}}
			if got := invariants.LostIntents(logs, e); len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

func TestFalseReady(t *testing.T) {
	failed := app(func(a *v1.EcommerceApp) { a.Status.Phase = v1.PhaseFailed })
	away := end(app(nil))
	away.Members = nil
	for name, test := range map[string]struct {
		end     *invariants.End
		changed int
		want    int
	}{
		"ready":             {end(app(nil), app(nil)), 10, 0},
		"failed":            {end(app(nil), failed), 10, 1},
		"failed just now":   {end(app(nil), failed), 90, 0},
		"missing":           {end(app(nil)), 10, 1},
		"reported":          {end(app(func(a *v1.EcommerceApp) { a.Status.Clusters[0].Ready = false }), failed), 10, 0},
		"without an answer": {away, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			logs := invariants.Logs{"eu-1": audit.Log{event(test.changed, hub, "patch ecommerceapps/status shop/web")}}
			if got := invariants.FalseReady(logs, test.end); len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

func TestLeftovers(t *testing.T) {
	child := func(owner string, deleted *metav1.Time) metav1.PartialObjectMetadata {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web", DeletionTimestamp: deleted}}
		o.Labels = map[string]string{v1.OwnerUIDLabel: owner}
		return o
	}
	now := metav1.Now()
	for name, test := range map[string]struct {
		child metav1.PartialObjectMetadata
		want  int
	}{
		"owned":    {child("present", nil), 0},
		"left":     {child("gone", nil), 1},
		"deleting": {child("gone", &now), 0},
	} {
		t.Run(name, func(t *testing.T) {
			member := invariants.Member{Owners: []types.UID{"present"}, Children: []metav1.PartialObjectMetadata{test.child}}
			if got := invariants.Leftovers(&invariants.End{Members: map[string]invariants.Member{"eu-1": member}}); len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

func TestLeaks(t *testing.T) {
	secrets := []corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "database"},
		Data:       map[string][]byte{"password": []byte("correct horse"), "user": []byte("well-known"), "root-password": []byte("short")},
	}}
	log := audit.Log{event(0, hub, "patch ecommerceapps/status shop/web"), event(0, user, "get secrets shop/database")}
	log[0].Object, log[1].URI = `{"status": "correct horse"}`, "/correct horse"
	texts := invariants.Reports(invariants.Logs{"hub": log})
	texts["an event"] = "well-known, short"
	texts["a log"] = "Y29ycmVjdCBob3JzZQ=="
	want := []string{"a log contains shop/database password", "the audit log of hub contains shop/database password"}
	if diff := cmp.Diff(want, invariants.Leaks(invariants.Confidential(secrets), texts)); diff != "" {
		t.Error(diff)
	}
}
