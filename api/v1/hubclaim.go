package v1

import "slices"

// HubClaim says which hubs have taken over the backups of a hub.
type HubClaim struct {
	// hub is the UID of the hub that made the backups. At most 64 characters.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Hub string `json:"hub"`

	// claimants are the UIDs of the hubs that claim them. At most 20, of at most 64 characters.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=64
	Claimants []string `json:"claimants"`
}

// ClaimantsOf returns the hubs that claim the backups of a hub in an account.
func (a *CloudAccount) ClaimantsOf(hub string) []string {
	if i := slices.IndexFunc(a.Status.Claims, func(c HubClaim) bool { return c.Hub == hub }); i >= 0 {
		return a.Status.Claims[i].Claimants
	}
	return nil
}
