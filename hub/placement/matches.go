package placement

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

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

// OfSelector returns the placement with the criteria of an override's selector.
func OfSelector(s *v1.OverrideSelector) *v1.Placement {
	p := &v1.Placement{ClusterNames: s.ClusterNames, Regions: s.Regions, Providers: s.Providers}
	if by := s.ClusterSelector; by != nil {
		p.ClusterSelector = &metav1.LabelSelector{MatchLabels: by.MatchLabels}
		for _, e := range by.MatchExpressions {
			p.ClusterSelector.MatchExpressions = append(p.ClusterSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values})
		}
	}
	return p
}
