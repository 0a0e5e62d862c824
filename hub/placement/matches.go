package placement

import v1 "github.com/shopfleet/shopfleet/api/v1"

// Matches reports whether a cluster meets the criteria of a placement: its selector, names, regions
// and providers. It does not matter whether the cluster is ready, paused or detached. The error is
// about the selector.
func Matches(spec *v1.Placement, cluster *Cluster) (bool, error) {
	c := criteria{Placement: spec}
	if err := c.check(); err != nil {
		return false, err
	}
	of := Cluster{Name: cluster.Name, Labels: cluster.Labels, Region: cluster.Region, Provider: cluster.Provider}
	return c.reject(&of, true) == "", nil
}
