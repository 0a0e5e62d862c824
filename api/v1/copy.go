package v1

// IsCopy tells whether an application in a member is a copy that a hub made, and
// not one that people run there by themselves. Either mark is enough: a copy that
// is stripped of one is put right, not left behind.
func (a *EcommerceApp) IsCopy() bool {
	return a.Annotations[HubAppUIDAnnotation] != "" || a.Labels[ManagedByLabel] == ManagedBy
}
