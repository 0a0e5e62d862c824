package overrides

import (
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errUnknownMember means that overrides cannot be selected yet: region and provider of a member that joins
// again are about to be known.
var errUnknownMember = errors.New("region and provider of the member are not known yet")

// Database returns the database in the effective spec of a member; nil without one. It is only read. The error
// says that it is not known: that of Effective, or that the member is not known well enough.
func Database(spec *v1.EcommerceAppSpec, member *v1.MemberCluster) (*v1.Database, error) {
	switch {
	case spec.Database == nil || len(spec.Overrides) == 0:
		return spec.Database, nil
	case member.Status.ClusterUID == "":
		return nil, errUnknownMember
	}
	effective, err := Effective(spec, member)
	if err != nil {
		return nil, err
	}
	return effective.Database, nil
}
