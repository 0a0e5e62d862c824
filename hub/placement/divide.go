package placement

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Shares returns how many of the replicas of an application each of the chosen clusters runs, by name;
// nil if they are not divided. Weights of clusters decide, and the order of the clusters does not
// matter.
func Shares(spec *v1.EcommerceAppSpec, clusters []Cluster, chosen []string) map[string]v1.ReplicaShare {
	if spec.Placement.Replicas.Mode != v1.ReplicasDivided || len(chosen) == 0 {
		return nil
	}
	weights := map[string]int32{}
	for i := range clusters {
		weights[clusters[i].Name] = weightOf(&clusters[i], spec.Placement.Replicas.Weights)
	}
	sharers := make([]sharer, 0, len(chosen))
	for _, name := range chosen {
		sharers = append(sharers, sharer{name: name, weight: max(1, int64(weights[name]))})
	}
	slices.SortFunc(sharers, func(a, b sharer) int { return strings.Compare(a.name, b.name) })
	shares := make(map[string]v1.ReplicaShare, len(chosen))
	if spec.Frontend.Autoscaling == nil {
		for i, n := range divide(replicasOf(cmp.Or(spec.Frontend.Replicas, spec.Replicas)), sharers) {
			shares[sharers[i].name] = v1.ReplicaShare{Frontend: new(n)}
		}
	}
	if spec.Backend.Image != "" && spec.Backend.Autoscaling == nil {
		for i, n := range divide(replicasOf(spec.Backend.Replicas), sharers) {
			share := shares[sharers[i].name]
			share.Backend = new(n)
			shares[sharers[i].name] = share
		}
	}
	return shares
}

// replicasOf returns the number of replicas of a component, which is 1 by default.
func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// sharer is a cluster with a weight of at least 1.
type sharer struct {
	name   string
	weight int64
}

// divide returns the share of each cluster in a total, by the method of Sainte-Lague: each replica in turn
// goes to the cluster with the highest weight / (2 share + 1). The shares always add up, none falls when
// the total rises, and an additional cluster takes replicas from the others without moving any between
// them. With the largest remainder method, the last two would need the former shares.
func divide(total int32, clusters []sharer) []int32 {
	shares := make([]int32, len(clusters))
	for range total {
		best := 0
		for i := range clusters {
			// weight / (2 share + 1), compared without a division.
			if clusters[i].weight*int64(2*shares[best]+1) > clusters[best].weight*int64(2*shares[i]+1) {
				best = i
			}
		}
		shares[best]++
	}
	return shares
}
