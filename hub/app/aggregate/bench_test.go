package aggregate

import (
	"fmt"
	"testing"
)

// placedOn returns the input about a shop that runs in a number of clusters, and its status.
func placedOn(clusters int) Input {
	in := Input{Generation: 1, Now: at(0)}
	for i := range clusters {
		c := member(fmt.Sprintf("member-%03d", i), running)
		c.Region = fmt.Sprintf("region-%d", i%10)
		in.Clusters, in.Chosen = append(in.Clusters, c), append(in.Chosen, c.Name)
	}
	in.Previous = Compute(in)
	return in
}

// BenchmarkCompute computes the status of a shop in 100 clusters, and in as many of 1,000 as a shop may
// run in. One of them changed.
func BenchmarkCompute(b *testing.B) {
	for _, clusters := range []int{100, 500} {
		b.Run(fmt.Sprint(clusters), func(b *testing.B) {
			in := placedOn(clusters)
			in.Now = at(9)
			in.Clusters[50].Copy.Status.Components[0].Ready = false
			b.ReportAllocs()
			for b.Loop() {
				Compute(in)
			}
		})
	}
}

// BenchmarkLoss computes the statuses of the 30 shops of one member, each in three members, after
// its loss: those of 10,000 shops and 1,000 members are spread like that.
func BenchmarkLoss(b *testing.B) {
	in := placedOn(3)
	lost(&in.Clusters[0])
	b.ReportAllocs()
	for b.Loop() {
		for range 30 {
			if next := Compute(in); !Urgent(in.Previous, next) {
				b.Fatal(next)
			}
		}
	}
}

// TestComputeAllocations bounds the garbage of a status by its clusters.
func TestComputeAllocations(t *testing.T) {
	const each = 124
	few, many := placedOn(10), placedOn(110)
	cost := func(in Input) float64 { return testing.AllocsPerRun(5, func() { Compute(in) }) }
	if got := (cost(many) - cost(few)) / 100; got > each {
		t.Errorf("%g allocations for each cluster, at most %d wanted", got, each)
	}
}
