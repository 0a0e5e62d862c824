package rollout

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Waves returns the clusters in the order in which they get a new revision, if all goes well. The clusters
// of one wave may get it together, as far as the spec allows. Those that do not serve customers, or have a component that
// is not ready, get it when another one has proven it. Without a rollout there is one wave.
func Waves(spec *v1.Rollout, clusters []Cluster) [][]string {
	if len(clusters) == 0 {
		return nil
	}
	if spec == nil {
		spec = &v1.Rollout{Strategy: v1.RolloutAll}
	}
	p := &planner{Request: Request{Spec: *spec, Clusters: clusters}}
	p.addClusters()
	serving, down := p.clusters, []*progress(nil)
	first := 0
	if spec.Strategy != v1.RolloutAll {
		serving, down = p.byServing()
		serving, first = byProof(serving)
	}
	var waves [][]string
	for i, c := range serving {
		switch {
		case i == 0:
			waves = append(waves, []string{c.Name})
		case spec.Strategy == v1.RolloutAll || i > first+1 && c.Region == serving[i-1].Region:
			waves[len(waves)-1] = append(waves[len(waves)-1], c.Name)
		default:
			waves = append(waves, []string{c.Name})
		}
	}
	if len(down) == 0 {
		return waves
	}
	proven := min(first+1, len(waves))
	if proven == len(waves) {
		waves = append(waves, nil)
	}
	for _, c := range down {
		waves[proven] = append(waves[proven], c.Name)
	}
	return waves
}

// byServing returns the clusters that serve customers or are set aside, and the others. If none serves, the first of the
// others has to prove the revision.
func (p *planner) byServing() (serving, down []*progress) {
	for _, c := range p.clusters {
		if c.isDown() {
			down = append(down, c)
		} else {
			serving = append(serving, c)
		}
	}
	if len(serving) == 0 {
		serving, down = down[:1], down[1:]
	}
	return serving, down
}

// byProof returns clusters with those first that get the revision before it is proven, and the index of the one that proves
// it: the first with replicas of which nothing was bad before, if there is one. It is their number if none has replicas.
func byProof(clusters []*progress) (ordered []*progress, proof int) {
	could := slices.ContainsFunc(clusters, func(c *progress) bool { return !c.NoReplicas && !isNotable(c.before()) })
	var waiting []*progress
	for i, c := range clusters {
		if could && isNotable(c.before()) {
			waiting = append(waiting, c)
			continue
		}
		if ordered = append(ordered, c); !c.NoReplicas {
			return slices.Concat(ordered, waiting, clusters[i+1:]), len(ordered) - 1
		}
	}
	return ordered, len(ordered)
}

// Guarded reports whether clusters have to wait for their turn: there is a revision that was healthy, it
// is not the one in the spec, and the rollout of that has not ended. While no revision was healthy, those that
// serve customers with another one wait.
func Guarded(r Request) bool {
	p := begin(r)
	ended := p.status.State == v1.RolloutComplete || p.status.Target() != p.status.Revision
	if p.returns() || ended {
		return false
	}
	return p.status.PreviousRevision != 0 || slices.ContainsFunc(r.Clusters, func(c Cluster) bool {
		return c.Serving && c.Revision != 0 && c.Revision != p.status.Revision
	})
}
