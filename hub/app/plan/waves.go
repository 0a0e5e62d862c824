package plan

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// wavesOf returns the order in which the copies of an application change, of the clusters whose copies do.
// Without a rollout the hub writes all of them at a time. With one, those that do not serve customers are named: it does
// not wait for them. A cluster that the application leaves does not
// wait for its turn.
func wavesOf(placed Placed, changing []string) []v1.PlannedWave {
	app, spec := placed.App, placed.Rollout
	clusters, down := make([]rollout.Cluster, 0, len(changing)), map[string]bool{}
	for _, name := range changing {
		next, leaves := rollout.Cluster{Name: name}, false
		if entry := app.Status.EntryOf(name); entry != nil {
			next.Region, leaves = entry.Region, entry.Phase == v1.PhaseDeleting
			next.NoReplicas, next.Serving = entry.Share.NoReplicas(), entry.Available || entry.Stale
			down[name] = !next.Serving && !leaves && entry.AppliedGeneration > 0
		}
		// The entry does not say why a component is not ready.
		if i := slices.IndexFunc(placed.Clusters, func(c rollout.Cluster) bool { return c.Name == name }); i >= 0 {
			next.Unready, next.Stalled = placed.Clusters[i].Unready, placed.Clusters[i].Stalled
		}
		if spec == nil || !leaves {
			clusters = append(clusters, next)
		}
	}
	var waves []v1.PlannedWave
	for _, wave := range rollout.Waves(spec, clusters) {
		if len(waves) == v1.MaxPlannedClusters {
			break
		}
		slices.Sort(wave)
		next := v1.PlannedWave{Clusters: wave}
		for _, name := range wave {
			if spec != nil && down[name] {
				next.NotServing = append(next.NotServing, name)
			}
		}
		waves = append(waves, next)
	}
	return waves
}
