package plan

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// wavesOf returns the order in which the copies of an application change, of the clusters whose copies do.
// Without a rollout the hub writes all of them at a time. A cluster that the application leaves does not
// wait for its turn.
func wavesOf(app *v1.EcommerceApp, spec *v1.Rollout, changing []string) []v1.PlannedWave {
	clusters := make([]rollout.Cluster, 0, len(changing))
	for _, name := range changing {
		next, leaves := rollout.Cluster{Name: name}, false
		for i := range app.Status.Clusters {
			if entry := &app.Status.Clusters[i]; entry.Name == name {
				next.Region, leaves = entry.Region, entry.Phase == v1.PhaseDeleting
				next.NoReplicas = entry.Share.NoReplicas()
			}
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
		waves = append(waves, v1.PlannedWave{Clusters: wave})
	}
	return waves
}
