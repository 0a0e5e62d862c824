package placement

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Division is the input of Shares.
type Division struct {
	Spec *v1.EcommerceAppSpec
	// Clusters are those of the fleet, and Chosen the names of those that run the application, in any
	// order.
	Clusters []Cluster
	Chosen   []string
	// Last are the present shares by cluster. Shares by free capacity depend on them.
	Last map[string]v1.ReplicaShare
	// Anew is true if the user edited the placement: the last shares are not kept then.
	Anew bool
}

// DivisionOf returns the division of the replicas of an application, as its status says how they are divided
// now, without clusters. An edit of the placement counts once, for the first decision about it.
func DivisionOf(app *v1.EcommerceApp) Division {
	d := Division{Spec: &app.Spec, Last: map[string]v1.ReplicaShare{}}
	for i := range app.Status.Clusters {
		if entry := &app.Status.Clusters[i]; entry.Share != nil {
			d.Last[entry.Name] = *entry.Share
		}
	}
	isEdited, _ := edited(app)
	d.Anew = isEdited && app.Status.Placement.DecidedFor != app.Generation
	return d
}

// Shares returns how many of the replicas of an application each of the chosen clusters runs, by name;
// nil if they are not divided. The order of the clusters does not matter.
func Shares(d Division) map[string]v1.ReplicaShare {
	if d.Spec.Placement.Replicas.Mode != v1.ReplicasDivided || len(d.Chosen) == 0 {
		return nil
	}
	shares := make(map[string]v1.ReplicaShare, len(d.Chosen))
	if w := &d.Spec.Frontend; w.Autoscaling == nil {
		total := replicasOf(cmp.Or(w.Replicas, d.Spec.Replicas))
		for _, s := range d.divide(total, w, func(s v1.ReplicaShare) *int32 { return s.Frontend }) {
			shares[s.name] = v1.ReplicaShare{Frontend: &s.share}
		}
	}
	if w := &d.Spec.Backend; w.Image != "" && w.Autoscaling == nil {
		for _, s := range d.divide(replicasOf(w.Replicas), w, func(s v1.ReplicaShare) *int32 { return s.Backend }) {
			share := shares[s.name]
			share.Backend = &s.share
			shares[s.name] = share
		}
	}
	return shares
}

// shares returns the shares of the clusters that the application is to run in, and marks those where
// fewer pods are ready.
func shares(r Request, all []candidate) map[string]v1.ReplicaShare {
	d := r.Division
	if d.Spec == nil || d.Spec.Placement.Replicas.Mode != v1.ReplicasDivided {
		return nil
	}
	d.Clusters, d.Chosen = r.Clusters, nil
	for i := range all {
		if all[i].runs() {
			d.Chosen = append(d.Chosen, all[i].Cluster.Name)
		}
	}
	shares := Shares(d)
	for i := range all {
		c := &all[i]
		share := shares[c.Cluster.Name]
		short := share.Frontend != nil && c.Frontend < *share.Frontend || share.Backend != nil && c.Backend < *share.Backend
		c.short = short && !replacesShare(d.Spec, c.Cluster)
	}
	return shares
}

// replacesShare reports whether an override may replace the share of a cluster, which it need not reach then.
func replacesShare(spec *v1.EcommerceAppSpec, c *Cluster) bool {
	return slices.ContainsFunc(spec.Overrides, func(o v1.Override) bool {
		if o.Replicas == nil && o.Frontend.Replicas == nil && o.Backend.Replicas == nil && len(o.JSONPatches) == 0 {
			return false
		}
		selected, err := Matches(&o.Selector, c)
		return selected && err == nil // Rendering the copy reports the error.
	})
}

// replicasOf returns the number of replicas of a component, which is 1 by default.
func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// sharer is a cluster with its share. Last is the present one; nil if the cluster joins.
type sharer struct {
	name   string
	weight int64
	last   *int32
	share  int32
}

// divide returns the chosen clusters by name, with their shares in the replicas of a component. By weights
// these depend on nothing else. By free capacity, clusters that join get the shares that they would have if
// all were divided anew. The others keep theirs, as far as the total allows.
func (d *Division) divide(total int32, w *v1.Workload, last func(v1.ReplicaShare) *int32) []*sharer {
	all := d.sharers(w, last)
	give(total, all)
	if d.Spec.Placement.Replicas.By != v1.DivideByFreeCapacity || d.Anew {
		return all
	}
	var staying []*sharer
	for _, s := range all {
		if s.last != nil {
			s.share = *s.last
			staying = append(staying, s)
		}
		total -= s.share
	}
	give(total, staying)
	take(-total, staying)
	return all
}

// sharers returns the chosen clusters by name, with their weights and without shares. By free capacity the
// weight is the number of replicas that a cluster runs and that fit into it. Of one whose free capacity is
// unknown as many fit as into the one of the others with the least, or one.
func (d *Division) sharers(w *v1.Workload, last func(v1.ReplicaShare) *int32) []*sharer {
	chosen, division := setOf(d.Chosen), &d.Spec.Placement.Replicas
	var all, unknown []*sharer
	least := int64(maxFitting)
	for i := range d.Clusters {
		c := &d.Clusters[i]
		if !chosen[c.Name] {
			continue
		}
		next := &sharer{name: c.Name, last: last(d.Last[c.Name])}
		all = append(all, next)
		if division.By != v1.DivideByFreeCapacity {
			next.weight = max(1, int64(weightOf(c, division.Weights)))
			continue
		}
		fits, known := fitting(w, c)
		if known {
			least = min(least, fits)
		} else {
			unknown = append(unknown, next)
		}
		next.weight = fits
		if next.last != nil {
			next.weight += int64(*next.last)
		}
	}
	if len(unknown) == len(all) {
		least = 1
	}
	for _, s := range unknown {
		s.weight += least
	}
	slices.SortFunc(all, func(a, b *sharer) int { return strings.Compare(a.name, b.name) })
	return all
}

// give adds replicas one by one to shares, by the method of Sainte-Lague: each goes to the cluster with the
// highest weight / (2 share + 1). If no cluster has a weight, all have the same.
func give(n int32, to []*sharer) {
	none := !slices.ContainsFunc(to, func(s *sharer) bool { return s.weight > 0 })
	for _, s := range to {
		if none {
			s.weight = 1
		}
	}
	for ; n > 0 && len(to) > 0; n-- {
		best := to[0]
		for _, s := range to {
			// weight / (2 share + 1), compared without a division.
			if s.weight*int64(2*best.share+1) > best.weight*int64(2*s.share+1) {
				best = s
			}
		}
		best.share++
	}
}

// take removes replicas one by one from shares, each from the cluster whose share is the greatest part of
// its weight, or of several, the greatest. Together they must have as many.
func take(n int32, from []*sharer) {
	for ; n > 0; n-- {
		fullest := from[0]
		for _, s := range from {
			part := cmp.Compare(int64(s.share)*fullest.weight, int64(fullest.share)*s.weight)
			if cmp.Or(part, cmp.Compare(s.share, fullest.share)) > 0 {
				fullest = s
			}
		}
		fullest.share--
	}
}
