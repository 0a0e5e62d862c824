package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// problem is a random placement problem.
type problem struct {
	spec     v1.Placement
	clusters []Cluster
	current  []string
}

func newProblem(r *rand.Rand) problem {
	var w problem
	regions := []string{"", "r1", "r2", "r3"}
	providers := []v1.Provider{"", v1.ProviderAWS, v1.ProviderGCP}
	for i := range r.IntN(12) {
		c := Cluster{
			Name:     fmt.Sprintf("c%02d", i),
			Region:   regions[r.IntN(len(regions))],
			Provider: providers[r.IntN(len(providers))],
			Ready:    r.IntN(3) > 0,
			Detached: r.IntN(8) == 0,
			Labels:   map[string]string{"tier": []string{"gold", "silver"}[r.IntN(2)]},
		}
		w.clusters = append(w.clusters, c)
		if r.IntN(2) == 0 {
			w.current = append(w.current, c.Name)
		}
	}
	if r.IntN(3) == 0 {
		w.spec.ClusterNames = []string{"c00", "c03", "c05", "c07", "unknown"}
	}
	if r.IntN(3) == 0 {
		w.spec.Regions = []string{"r1", "r3"}
	}
	if r.IntN(3) == 0 {
		w.spec.Providers = []v1.Provider{v1.ProviderGCP}
	}
	if r.IntN(3) == 0 {
		w.spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	}
	if r.IntN(2) == 0 {
		w.spec.MaxClusters = int32(r.IntN(5))
	}
	return w
}

func TestDecideHoldsForRandomFleets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newProblem(r)
		got, err := Decide(w.spec, w.clusters, w.current)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if problem := w.check(r, got); problem != "" {
			t.Fatalf("seed %d: %s\nproblem: %+v\ndecision: %+v", seed, problem, w, got)
		}
	}
}

// TestAffects: a change of a cluster that does not affect an application chooses the same clusters
// for it, and what chooses others affects it.
func TestAffects(t *testing.T) {
	t.Parallel()
	affected, unaffected := 0, 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		before, after := newProblem(r), newProblem(r)
		if len(before.clusters) == 0 || len(after.clusters) == 0 || slices.Contains(before.current, "c00") {
			continue
		}
		was, is := before.clusters[0], after.clusters[0]
		one, err := Decide(before.spec, before.clusters, before.current)
		if err != nil {
			t.Fatal(err)
		}
		before.clusters[0] = is
		two, err := Decide(before.spec, before.clusters, before.current)
		if err != nil {
			t.Fatal(err)
		}
		if Affects(&before.spec, &was, &is) {
			affected++
			continue
		}
		unaffected++
		one.Rejected, two.Rejected = nil, nil
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("seed %d: %+v and %+v are said not to differ for %+v:\n%s", seed, was, is, before.spec, diff)
		}
	}
	if affected < 500 || unaffected < 500 {
		t.Errorf("%d changes affect the decision and %d do not: the test says little", affected, unaffected)
	}
}

// check returns what is wrong with a decision, or nothing.
func (w problem) check(r *rand.Rand, d Decision) string {
	for _, f := range []func(*rand.Rand, Decision) string{
		w.deterministic, w.complete, w.bounded, w.sticky, w.stable, w.onlyWhereAllowed,
	} {
		if problem := f(r, d); problem != "" {
			return problem
		}
	}
	return ""
}

// deterministic: neither the order of the input nor a second call changes anything.
func (w problem) deterministic(r *rand.Rand, d Decision) string {
	clusters, current := slices.Clone(w.clusters), slices.Clone(w.current)
	r.Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
	r.Shuffle(len(current), func(i, j int) { current[i], current[j] = current[j], current[i] })
	again, err := Decide(w.spec, clusters, current)
	if err != nil {
		return err.Error()
	}
	if diff := cmp.Diff(d, again); diff != "" {
		return "another order decides otherwise: " + diff
	}
	return ""
}

// complete: chosen and rejected name each cluster once, and listed strangers.
func (w problem) complete(_ *rand.Rand, d Decision) string {
	var got, want []string
	got = append(got, d.Chosen...)
	for _, x := range d.Rejected {
		if x.Reason == "" {
			return "rejected without a reason: " + x.Name
		}
		got = append(got, x.Name)
	}
	for _, c := range w.clusters {
		want = append(want, c.Name)
	}
	for _, name := range w.spec.ClusterNames {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	return cmp.Diff(want, got)
}

func (w problem) bounded(_ *rand.Rand, d Decision) string {
	if limit := int(w.spec.MaxClusters); d.Unmatched == "" && limit > 0 && len(d.Chosen) > limit {
		return fmt.Sprintf("%d chosen, %d allowed", len(d.Chosen), limit)
	}
	return ""
}

// sticky: a placed member is given up for the bound only to others that were placed.
func (w problem) sticky(_ *rand.Rand, d Decision) string {
	for _, x := range d.Rejected {
		if !slices.Contains(w.current, x.Name) {
			continue
		}
		switch x.Reason {
		case v1.ReasonClusterNotReady:
			return "a placed cluster was given up because it is not ready: " + x.Name
		case v1.ReasonMaxClustersReached:
			for _, chosen := range d.Chosen {
				if !slices.Contains(w.current, chosen) {
					return fmt.Sprintf("%s replaced %s, which was placed", chosen, x.Name)
				}
			}
		}
	}
	return ""
}

// stable: deciding again with the outcome as the current state changes nothing.
func (w problem) stable(_ *rand.Rand, d Decision) string {
	again, err := Decide(w.spec, w.clusters, d.Chosen)
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(d.Chosen, again.Chosen)
}

// onlyWhereAllowed: what is chosen fits the spec, or nothing does and all stays as it is.
func (w problem) onlyWhereAllowed(_ *rand.Rand, d Decision) string {
	for _, c := range w.clusters {
		if d.Unmatched != "" {
			if stays := slices.Contains(w.current, c.Name) && !c.Detached; stays != slices.Contains(d.Chosen, c.Name) {
				return "moved although nothing matches: " + c.Name
			}
			continue
		}
		if !slices.Contains(d.Chosen, c.Name) {
			continue
		}
		wrongName := len(w.spec.ClusterNames) > 0 && !slices.Contains(w.spec.ClusterNames, c.Name)
		wrongRegion := len(w.spec.Regions) > 0 && !slices.Contains(w.spec.Regions, c.Region)
		wrongProvider := len(w.spec.Providers) > 0 && !slices.Contains(w.spec.Providers, c.Provider)
		wrongLabel := w.spec.ClusterSelector != nil && c.Labels["tier"] != "gold"
		notReady := !c.Ready && !slices.Contains(w.current, c.Name)
		if c.Detached || wrongName || wrongRegion || wrongProvider || wrongLabel || notReady {
			return "chosen against the spec: " + c.Name
		}
	}
	return ""
}
