package v1

import "cmp"

// Located returns a member with its region and provider. While its status lacks them, because it was lost
// or the hub has not connected to it yet, they are those of the spec, or of the entry of an application that
// runs there, which may be nil. The member is not changed.
func (m *MemberCluster) Located(entry *ClusterStatus) *MemberCluster {
	if m.Status.Region != "" && m.Status.Provider != "" {
		return m
	}
	if entry == nil {
		entry = &ClusterStatus{}
	}
	located := *m
	located.Status.Region = cmp.Or(m.Status.Region, m.Spec.Region, entry.Region)
	located.Status.Provider = cmp.Or(m.Status.Provider, m.Spec.Provider, entry.Provider)
	return &located
}

// EntryOf returns the entry of a cluster, or nil if there is none.
func (s *EcommerceAppStatus) EntryOf(cluster string) *ClusterStatus {
	for i := range s.Clusters {
		if entry := &s.Clusters[i]; entry.Name == cluster {
			return entry
		}
	}
	return nil
}
