package placement

import (
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Matches reports whether a cluster meets criteria. It does not matter whether the cluster is ready,
// paused or detached. The error is about the selector of labels.
func Matches(by *v1.ClusterCriteria, cluster *Cluster) (bool, error) {
	if err := checkCriteria(by); err != nil {
		return false, err
	}
	return mismatch(by, nil, cluster) == "", nil
}
