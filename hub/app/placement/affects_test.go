package placement

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestAffects checks that a change of a cluster that does not affect an application chooses the same clusters for it,
// and what chooses others affects it.
func TestAffects(t *testing.T) {
	t.Parallel()
	affected, unaffected, full := 0, 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w, other := newProblem(r), newProblem(r)
		if len(w.Clusters) == 0 || len(other.Clusters) == 0 || slices.Contains(w.current, "c00") {
			continue
		}
		was, is := w.Clusters[0], other.Clusters[0]
		without := w
		without.Clusters = w.Clusters[1:]
		app := without.app(t, r)
		is.Allocatable, is.Requested = was.Allocatable, was.Requested // Their changes wake no application.
		one := w.decide(t, app)
		w.Clusters[0] = is
		two := w.decide(t, app)
		if Affects(app, &was, &is) {
			affected++
			continue
		}
		unaffected++
		if matters(&app.Spec.Placement, &was, &is) {
			full++
		}
		one.Rejected, two.Rejected = nil, nil
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("seed %d: %+v and %+v are said not to differ for %+v, %+v:\n%s", seed, was, is, app.Spec.Placement, app.Status, diff)
		}
	}
	if affected < 2000 || unaffected < 2000 || full < 200 {
		t.Errorf("%d changes affect the decision and %d do not, %d of these because the application is full: the test says little", affected, unaffected, full)
	}
}

// app returns an application with the placement of the problem, which runs in its clusters, and mostly has been
// decided: with what a user or the hub may have changed since.
func (pr *problem) app(t *testing.T, r *rand.Rand) *v1.EcommerceApp {
	t.Helper()
	if r.IntN(3) > 0 { // Few clusters meet all criteria.
		p := &pr.Placement
		p.ClusterNames, p.Regions, p.Providers, p.ClusterSelector = nil, nil, nil, nil
	}
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: pr.Placement, Replicas: new(int32(7))}}
	app.Generation = 2
	if pr.HasDatabase {
		app.Spec.Database = &v1.Database{}
	}
	if r.IntN(4) == 0 {
		app.Spec.Placement.Replicas = v1.PlacementReplicas{Mode: v1.ReplicasDivided, By: v1.DivideByFreeCapacity}
	}
	for _, c := range pr.Current {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: c.Name, Available: c.Serving, Stale: !c.Serving && !c.Idle})
	}
	last := pr.Placement
	if pr.Edited {
		last.MaxClusters++
	}
	if pr.SelectionEdited {
		last.ClusterNames = []string{"another"}
	}
	app.Status.Placement = &v1.PlacementStatus{SpecHash: Hash(last)}
	app.Annotations = map[string]string{v1.MoveEmptyAnnotation: strings.Join(pr.MoveEmpty, ",")}
	if r.IntN(4) == 0 {
		return app
	}
	if r.IntN(2) == 0 {
		app.Annotations = nil
	}
	if chosen := pr.decide(t, app).Chosen; len(chosen) > 0 && r.IntN(2) == 0 {
		app.Spec.Placement.MaxClusters = int32(len(chosen))
	}
	app.Status = decided(app, pr.decide(t, app))
	switch r.IntN(8) {
	case 0:
		app.Spec.Placement = randomPlacement(r)
		app.Spec.Placement.MaxClusters = int32(len(app.Status.Clusters))
		app.Generation++
	case 1:
		if n := len(app.Status.Clusters); n > 0 {
			app.Status.Clusters[r.IntN(n)].Phase = v1.PhaseDeleting
		}
	}
	return app
}

func (pr *problem) decide(t *testing.T, app *v1.EcommerceApp) Decision {
	t.Helper()
	d, err := Decide(RequestOf(app, pr.Clusters, pr.Now))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// decided returns the status of an application after a decision, as the hub writes it.
func decided(app *v1.EcommerceApp, d Decision) v1.EcommerceAppStatus {
	placed := metav1.Condition{Type: v1.ConditionPlaced, Status: metav1.ConditionTrue, Reason: v1.ReasonPlaced, ObservedGeneration: app.Generation}
	if reason, _ := d.Explain(); reason != "" {
		placed.Reason = reason
	}
	if d.Unmatched != "" || d.Unmet != "" || len(d.Chosen) == 0 {
		placed.Status = metav1.ConditionFalse
	}
	s := v1.EcommerceAppStatus{
		ObservedGeneration: max(1, app.Generation), ClusterCount: int32(len(d.Chosen)), Conditions: []metav1.Condition{placed},
		Placement: &v1.PlacementStatus{DecidedFor: app.Generation},
	}
	if !d.Pending() {
		s.Placement.SpecHash = Hash(app.Spec.Placement)
	}
	for _, name := range d.Chosen {
		entry := v1.ClusterStatus{Name: name, Available: true}
		if share, has := d.Shares[name]; has {
			entry.Share = &share
		}
		s.Clusters = append(s.Clusters, entry)
	}
	return s
}

// TestIsFull checks that only a skew, of all spreads, lets a cluster matter that is not chosen.
func TestIsFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spread v1.Spread
		want   bool
	}{
		"a maximum": {v1.Spread{MaxClustersPerDomain: 1}, true},
		"a skew":    {v1.Spread{MaxSkew: 1}, false},
	} {
		app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: v1.Placement{MaxClusters: 1, Spread: []v1.Spread{test.spread}}}}
		app.Status = decided(app, Decision{Chosen: []string{"eu"}})
		if got := isFull(app, "us"); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
