package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// byFree returns the division of frontends among clusters that run some of them and for each of which so
// many more fit; -1 is unknown. Those whose last share is -1 join.
func byFree(total int32, free []int64, last []int32) Division {
	d := Division{Spec: &v1.EcommerceAppSpec{Replicas: &total}, Last: map[string]v1.ReplicaShare{}}
	d.Spec.Placement.Replicas = v1.PlacementReplicas{Mode: v1.ReplicasDivided, By: v1.DivideByFreeCapacity}
	for i, n := range free {
		c := ready(fmt.Sprintf("c%02d", i), "", "")
		if n >= 0 {
			c.Allocatable, c.Requested = capacity(1000, 1_000_000), capacity(0, 0)
			c.Allocatable[v1.ResourceCPU] = *resource.NewMilliQuantity(n*defaultCPU, resource.DecimalSI)
		}
		d.Clusters, d.Chosen = append(d.Clusters, c), append(d.Chosen, c.Name)
		if last[i] >= 0 {
			d.Last[c.Name] = v1.ReplicaShare{Frontend: &last[i]}
		}
	}
	return d
}

// frontends returns the shares of the frontend in the order of the clusters.
func frontends(d Division) []int32 {
	shares := Shares(d)
	var all []int32
	for _, name := range slices.Sorted(slices.Values(d.Chosen)) {
		all = append(all, *shares[name].Frontend)
	}
	return all
}

func TestSharesByFreeCapacity(t *testing.T) {
	t.Parallel()
	const joins, unknown = -1, -1
	for name, tt := range map[string]struct {
		total int32
		free  []int64
		last  []int32
		anew  bool
		want  []int32
	}{
		"the first division":                {total: 10, free: []int64{60, 30, 10}, last: []int32{joins, joins, joins}, want: []int32{6, 3, 1}},
		"a full cluster gets none":          {total: 4, free: []int64{9, 0}, last: []int32{joins, joins}, want: []int32{4, 0}},
		"all are full":                      {total: 4, free: []int64{0, 0}, last: []int32{joins, joins}, want: []int32{2, 2}},
		"an unknown one is the smallest":    {total: 8, free: []int64{60, unknown, 10}, last: []int32{joins, joins, joins}, want: []int32{6, 1, 1}},
		"all are unknown":                   {total: 4, free: []int64{unknown, unknown}, last: []int32{joins, joins}, want: []int32{2, 2}},
		"capacity changes":                  {total: 4, free: []int64{0, 90}, last: []int32{3, 1}, want: []int32{3, 1}},
		"more where capacity is free":       {total: 8, free: []int64{10, 30}, last: []int32{3, 1}, want: []int32{3, 5}},
		"less from the fullest":             {total: 3, free: []int64{0, 97}, last: []int32{3, 3}, want: []int32{0, 3}},
		"less from both":                    {total: 6, free: []int64{4, 4}, last: []int32{6, 4}, want: []int32{3, 3}},
		"one joins":                         {total: 6, free: []int64{3, 3, 6}, last: []int32{3, 3, joins}, want: []int32{2, 2, 2}},
		"a full one joins":                  {total: 6, free: []int64{3, 3, 0}, last: []int32{3, 3, joins}, want: []int32{3, 3, 0}},
		"one left":                          {total: 9, free: []int64{10, 20}, last: []int32{3, 3}, want: []int32{3, 6}},
		"one replaces another":              {total: 6, free: []int64{3, 6}, last: []int32{3, joins}, want: []int32{3, 3}},
		"an edit divides anew":              {total: 8, free: []int64{0, 9}, last: []int32{7, 1}, anew: true, want: []int32{3, 5}},
		"none":                              {total: 0, free: []int64{1, 1}, last: []int32{1, 1}, want: []int32{0, 0}},
		"fewer than clusters, and one more": {total: 2, free: []int64{5, 4, 3}, last: []int32{1, 0, 0}, want: []int32{1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := byFree(tt.total, tt.free, tt.last)
			d.Anew = tt.anew
			if diff := cmp.Diff(tt.want, frontends(d)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDivisionOf checks that an edit of the placement divides the replicas anew once, in the first decision about it.
func TestDivisionOf(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: v1.Placement{MaxClusters: 2}}}
	app.Generation = 3
	app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Share: &v1.ReplicaShare{Frontend: new(int32(3))}}, {Name: "b"}}
	for name, tt := range map[string]struct {
		last *v1.PlacementStatus
		want bool
	}{
		"no decision":         {nil, false},
		"no edit":             {&v1.PlacementStatus{DecidedFor: 2, SpecHash: Hash(app.Spec.Placement)}, false},
		"an edit":             {&v1.PlacementStatus{DecidedFor: 2, SpecHash: "other"}, true},
		"an edit that is met": {&v1.PlacementStatus{DecidedFor: 3, SpecHash: "other"}, false},
	} {
		app.Status.Placement = tt.last
		d := DivisionOf(app)
		if d.Anew != tt.want || len(d.Last) != 1 || *d.Last["a"].Frontend != 3 {
			t.Errorf("%s: anew %t, want %t; last %v", name, d.Anew, tt.want, d.Last)
		}
	}
}

// TestSharesByFreeCapacityHold checks that for random fleets no replica is lost or invented, a change of capacity
// moves none, none is taken when the total rises and none given when it falls, one that joins takes its share from
// the others and moves nothing between them, and none is given beyond what is free if all fit.
func TestSharesByFreeCapacityHold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 1 + r.IntN(8)
		free, other, last := make([]int64, n), make([]int64, n), make([]int32, n)
		var total int32
		for i := range n {
			free[i], other[i], last[i] = r.Int64N(40)-1, r.Int64N(40)-1, r.Int32N(15)
			total += last[i]
		}
		more, less := r.Int32N(20), r.Int32N(total+1)
		raised, lowered := frontends(byFree(total+more, free, last)), frontends(byFree(total-less, free, last))
		joined := frontends(byFree(total, append(slices.Clone(free), r.Int64N(40)), append(slices.Clone(last), -1)))
		problem := firstProblem(
			equalSum(raised, total+more), equalSum(lowered, total-less), equalSum(joined, total),
			equal("a change of capacity", frontends(byFree(total, other, last)), last),
			monotone("a rise", last, raised), monotone("a fall", lowered, last), monotone("a cluster that joins", joined[:n], last),
			equal("another order", shuffled(r, byFree(total+more, free, last)), raised),
		)
		if problem == "" && !slices.Contains(free, -1) {
			problem = withinCapacity(free, last, raised, int64(more))
		}
		if problem != "" {
			t.Fatalf("seed %d: %s: %v of free %v: raised to %v, lowered to %v, joined %v", seed, problem, last, free, raised, lowered, joined)
		}
	}
}

func firstProblem(all ...string) string {
	for _, problem := range all {
		if problem != "" {
			return problem
		}
	}
	return ""
}

func equalSum(shares []int32, want int32) string {
	var sum int32
	for _, n := range shares {
		sum += n
	}
	return map[bool]string{true: fmt.Sprintf("%v do not add up to %d", shares, want)}[sum != want]
}

func equal(what string, got, want []int32) string {
	if diff := cmp.Diff(want, got); diff != "" {
		return what + " moves replicas:\n" + diff
	}
	return ""
}

// monotone returns a problem if a share in less is greater than the one in more.
func monotone(what string, less, more []int32) string {
	for i := range less {
		if less[i] > more[i] {
			return fmt.Sprintf("%s changes the share of %d from %v to %v", what, i, less, more)
		}
	}
	return ""
}

func shuffled(r *rand.Rand, d Division) []int32 {
	r.Shuffle(len(d.Clusters), func(i, j int) { d.Clusters[i], d.Clusters[j] = d.Clusters[j], d.Clusters[i] })
	r.Shuffle(len(d.Chosen), func(i, j int) { d.Chosen[i], d.Chosen[j] = d.Chosen[j], d.Chosen[i] })
	return frontends(d)
}

func withinCapacity(free []int64, last, raised []int32, more int64) string {
	var sum int64
	for _, n := range free {
		sum += n
	}
	for i := range raised {
		if more <= sum && int64(raised[i]-last[i]) > free[i] {
			return fmt.Sprintf("%d more in cluster %d, where %d fit", raised[i]-last[i], i, free[i])
		}
	}
	return ""
}

// TestTake checks that the first cluster by name gives, of those whose shares are the same part of their weights.
func TestTake(t *testing.T) {
	t.Parallel()
	from := []*sharer{{name: "a", weight: 1, share: 2}, {name: "b", weight: 1, share: 2}}
	take(1, from)
	if from[0].share != 1 || from[1].share != 2 {
		t.Errorf("shares %d and %d", from[0].share, from[1].share)
	}
}
