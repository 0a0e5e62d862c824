package v1

// ExcludesNone reports whether a placement excludes no cluster, so that the application runs in every
// ready cluster of the fleet. A clusterSelector that is empty selects all clusters, too, but on purpose.
func (p *Placement) ExcludesNone() bool {
	return p.ClusterSelector == nil && len(p.ClusterNames) == 0 && len(p.Regions) == 0 && len(p.Providers) == 0 &&
		p.MaxClusters == 0 && len(p.Spread) == 0
}
