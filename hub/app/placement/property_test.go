package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// problem is a random placement problem.
type problem struct {
	Request
	current []string
}

func newProblem(r *rand.Rand) problem {
	w := problem{Request: Request{HasDatabase: r.IntN(2) == 0, Edited: r.IntN(2) == 0, Now: time.Unix(1000, 0)}}
	w.SelectionEdited = w.Edited && r.IntN(2) == 0
	if r.IntN(2) == 0 {
		w.MoveEmpty = []string{"c01", "c02", "c03", "c04"}
	}
	regions := []string{"", "r1", "r2", "r3"}
	providers := []v1.Provider{"", v1.ProviderAWS, v1.ProviderGCP}
	anew := r.IntN(3) == 0
	for i := range r.IntN(12) {
		c := Cluster{
			Name:     fmt.Sprintf("c%02d", i),
			Region:   regions[r.IntN(len(regions))],
			Provider: providers[r.IntN(len(providers))],
			Ready:    r.IntN(3) > 0,
			Detached: r.IntN(8) == 0,
			Labels:   map[string]string{"tier": []string{"gold", "silver"}[r.IntN(2)]},
			Zones:    [][]string{nil, {"z1"}, {"z2"}, {"z1", "z2"}}[r.IntN(4)],
		}
		if r.IntN(4) > 0 {
			c.Allocatable, c.Requested = capacity(10, 100), capacity(r.Int64N(12), r.Int64N(120))
		}
		if r.IntN(4) == 0 {
			c.Scheduling = []v1.Scheduling{v1.SchedulingCordoned, v1.SchedulingDrained}[r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			c.Taints = []Taint{{
				Taint:     v1.Taint{Key: "k", Value: []string{"a", "b"}[r.IntN(2)], Effect: []v1.TaintEffect{v1.TaintNoSchedule, v1.TaintNoExecute}[r.IntN(2)]},
				AddedTime: time.Unix(int64(900+r.IntN(100)), 0),
			}}
		}
		w.Clusters = append(w.Clusters, c)
		if !anew && r.IntN(2) == 0 {
			w.current = append(w.current, c.Name)
			current := Current{Name: c.Name, Serving: r.IntN(3) > 0}
			current.Idle = !current.Serving && r.IntN(2) == 0
			w.Current = append(w.Current, current)
		}
	}
	w.Placement = randomPlacement(r)
	return w
}

// randomPlacement returns a placement with any of the criteria.
func randomPlacement(r *rand.Rand) v1.Placement {
	var spec v1.Placement
	if r.IntN(3) == 0 {
		spec.ClusterNames = []string{"c00", "c03", "c05", "c07", "unknown"}
	}
	if r.IntN(3) == 0 {
		spec.Regions = []string{"r1", "r3"}
	}
	if r.IntN(3) == 0 {
		spec.Providers = []v1.Provider{v1.ProviderGCP}
	}
	if r.IntN(3) == 0 {
		spec.ClusterSelector = &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	}
	if r.IntN(2) == 0 {
		spec.MaxClusters = int32(r.IntN(5))
	}
	if r.IntN(3) == 0 {
		spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationExists}}
		if r.IntN(2) == 0 {
			spec.Tolerations[0].Effect, spec.Tolerations[0].TolerationSeconds = v1.ToleratesNoExecute, new(int64(50))
		}
	}
	if r.IntN(3) == 0 {
		spec.Preferences = []v1.WeightedClusters{{Weight: 1, Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "silver"}}}}}
	}
	for _, topology := range []v1.Topology{v1.TopologyRegion, v1.TopologyZone, v1.TopologyProvider} {
		if r.IntN(4) == 0 {
			spec.Spread = append(spec.Spread, v1.Spread{
				Topology: topology, MinDomains: int32(r.IntN(3)), MaxDomains: int32(r.IntN(3)),
				MaxClustersPerDomain: int32(r.IntN(3)), MaxSkew: int32(r.IntN(3)),
			})
		}
	}
	return spec
}

func TestDecideHoldsForRandomFleets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newProblem(r)
		got, err := Decide(w.Request)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if problem := w.check(r, got); problem != "" {
			t.Fatalf("seed %d: %s\nproblem: %+v\ndecision: %+v", seed, problem, w, got)
		}
	}
}

// check returns what is wrong with a decision, or nothing.
func (pr problem) check(r *rand.Rand, d Decision) string {
	for _, f := range []func(*rand.Rand, Decision) string{
		pr.deterministic, pr.complete, pr.bounded, pr.spread, pr.sticky, pr.served, pr.stable, pr.unmoved, pr.onlyWhereAllowed,
	} {
		if problem := f(r, d); problem != "" {
			return problem
		}
	}
	return ""
}

// deterministic checks that neither the order of the input nor a second call changes anything.
func (pr problem) deterministic(r *rand.Rand, d Decision) string {
	other := pr.Request
	other.Clusters, other.Current = slices.Clone(pr.Clusters), slices.Clone(pr.Current)
	r.Shuffle(len(other.Clusters), func(i, j int) { other.Clusters[i], other.Clusters[j] = other.Clusters[j], other.Clusters[i] })
	r.Shuffle(len(other.Current), func(i, j int) { other.Current[i], other.Current[j] = other.Current[j], other.Current[i] })
	again, err := Decide(other)
	if err != nil {
		return err.Error()
	}
	if diff := cmp.Diff(d, again); diff != "" {
		return "another order decides otherwise: " + diff
	}
	return ""
}

// complete checks that the chosen, rejected and listed clusters include each cluster once.
func (pr problem) complete(_ *rand.Rand, d Decision) string {
	var got, want []string
	got = append(got, d.Chosen...)
	for _, x := range d.Rejected {
		if x.Reason == "" {
			return "rejected without a reason: " + x.Name
		}
		got = append(got, x.Name)
	}
	for _, c := range pr.Clusters {
		want = append(want, c.Name)
	}
	for _, name := range pr.Placement.ClusterNames {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	return cmp.Diff(want, got)
}

// regular returns the chosen clusters that the application should not leave.
func regular(d Decision) []string {
	return slices.DeleteFunc(slices.Clone(d.Chosen), func(name string) bool {
		return slices.ContainsFunc(d.Stays, func(s Stay) bool { return s.Name == name })
	})
}

// bounded checks that the maximum holds for the chosen clusters, except those that stay.
func (pr problem) bounded(_ *rand.Rand, d Decision) string {
	limit := int(pr.Placement.MaxClusters)
	if d.Unmatched == "" && limit > 0 && len(regular(d)) > limit {
		return fmt.Sprintf("%d chosen, %d allowed", len(regular(d)), limit)
	}
	return ""
}

// sticky checks that a placed member is given up for a bound only when the placement was edited, and then only to
// others that were placed unless there is a spread. Data is left behind only where the user named the cluster, or by
// an edit that does not select it.
func (pr problem) sticky(_ *rand.Rand, d Decision) string {
	for _, x := range d.Rejected {
		if !slices.Contains(pr.current, x.Name) {
			continue
		}
		switch x.Reason {
		case v1.ReasonClusterNotReady, v1.ReasonCordoned, v1.ReasonPaused:
			return "a placed cluster was given up because it takes no more applications: " + x.Name
		case v1.ReasonMaxClustersReached, v1.ReasonSpreadLimit:
			if problem := pr.exchanged(d); problem != "" {
				return x.Name + " was given up: " + problem
			}
		}
		matches := evicts(x.Reason) || x.Reason == v1.ReasonMaxClustersReached || x.Reason == v1.ReasonSpreadLimit
		if pr.HasDatabase && x.Reason != v1.ReasonClusterDetached && (matches || !pr.SelectionEdited) && !slices.Contains(pr.MoveEmpty, x.Name) {
			return "data was left behind in " + x.Name
		}
	}
	return ""
}

// exchanged returns what is wrong with giving up a cluster for a bound.
func (pr problem) exchanged(d Decision) string {
	if !pr.Edited && !pr.HasDatabase {
		return map[bool]string{true: "no user edited the placement"}[pr.Placement.MaxClusters == 0]
	}
	added := slices.ContainsFunc(d.Chosen, func(name string) bool { return !slices.Contains(pr.current, name) })
	if added && len(pr.Placement.Spread) == 0 {
		return "another cluster replaced it"
	}
	return ""
}

// served checks that customers who are served are served somewhere afterwards, unless the cluster does not respond,
// has left the fleet or the data moves with an edit.
func (pr problem) served(_ *rand.Rand, d Decision) string {
	before, after := 0, 0
	for _, c := range pr.Current {
		i := slices.IndexFunc(pr.Clusters, func(cluster Cluster) bool { return cluster.Name == c.Name })
		if !c.Serving || pr.Clusters[i].Detached || !pr.Clusters[i].Ready || pr.HasDatabase && !slices.Contains(pr.MoveEmpty, c.Name) {
			continue
		}
		before++
		if slices.Contains(d.Chosen, c.Name) {
			after++
		}
	}
	for _, c := range pr.Current {
		if c.Serving && slices.Contains(d.Chosen, c.Name) {
			after++
		}
	}
	if before > 0 && after == 0 {
		return "no customer is served any more"
	}
	return ""
}

// stable checks that deciding again with the outcome as the current state changes nothing. What stays until others
// serve customers goes when they do; a spread may count one domain less then.
func (pr problem) stable(_ *rand.Rand, d Decision) string {
	next := pr.Request
	for range 3 {
		want := pr.afterReplacement(d)
		next.Current, next.Edited = serving(d.Chosen...), pr.Edited && d.Pending()
		next.SelectionEdited = next.Edited && pr.SelectionEdited
		again, err := Decide(next)
		if err != nil {
			return err.Error()
		}
		diff := cmp.Diff(want, again.Chosen)
		if diff == "" || len(pr.Placement.Spread) == 0 {
			return diff
		}
		d = again
	}
	return "the decision changes again and again"
}

// afterReplacement returns the clusters that are chosen once all of them serve customers. None is left for
// clusters that do not respond.
func (pr problem) afterReplacement(d Decision) []string {
	var want []string
	responds := false
	for _, name := range d.Chosen {
		if slices.ContainsFunc(d.Stays, func(s Stay) bool { return s.Name == name && s.Reason == v1.ReasonReplacementPending }) {
			continue
		}
		want = append(want, name)
		responds = responds || slices.ContainsFunc(pr.Clusters, func(c Cluster) bool { return c.Name == name && c.Ready })
	}
	if !responds {
		return d.Chosen
	}
	return want
}

// onlyWhereAllowed checks that the chosen clusters fit the spec, or that none fits and all stay as they are.
func (pr problem) onlyWhereAllowed(_ *rand.Rand, d Decision) string {
	for _, c := range pr.Clusters {
		if d.Unmatched != "" {
			if stays := slices.Contains(pr.current, c.Name) && !c.Detached; stays != slices.Contains(d.Chosen, c.Name) {
				return "moved although nothing matches: " + c.Name
			}
			continue
		}
		if !slices.Contains(regular(d), c.Name) {
			continue
		}
		wrongName := len(pr.Placement.ClusterNames) > 0 && !slices.Contains(pr.Placement.ClusterNames, c.Name)
		wrongRegion := len(pr.Placement.Regions) > 0 && !slices.Contains(pr.Placement.Regions, c.Region)
		wrongProvider := len(pr.Placement.Providers) > 0 && !slices.Contains(pr.Placement.Providers, c.Provider)
		wrongLabel := pr.Placement.ClusterSelector != nil && c.Labels["tier"] != "gold"
		closed := (!c.Ready || c.Scheduling == v1.SchedulingCordoned) && !slices.Contains(pr.current, c.Name)
		if c.Detached || c.Scheduling == v1.SchedulingDrained || wrongName || wrongRegion || wrongProvider || wrongLabel || closed {
			return "chosen against the spec: " + c.Name
		}
	}
	return ""
}
