package doctor

import (
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/shopfleet/shopfleet/config"
)

// The results of Skew.
const (
	SkewSupported   = "Supported"
	SkewUnsupported = "Unsupported"
	SkewUnknown     = "Unknown"
)

// Skew compares the versions of two programs, which may be one minor version of the same major version apart.
func Skew(a, b string) string {
	if a == "" || b == "" {
		return SkewUnknown
	}
	if a == b {
		return SkewSupported
	}
	first, err := version.ParseGeneric(a)
	if err != nil {
		return SkewUnknown
	}
	second, err := version.ParseGeneric(b)
	if err != nil {
		return SkewUnknown
	}
	if first.Major() == second.Major() && max(first.Minor(), second.Minor())-min(first.Minor(), second.Minor()) <= 1 {
		return SkewSupported
	}
	return SkewUnsupported
}

// IsOlder reports whether a version is older than another one. It is false if one of them is unknown, or of a build
// without a version.
func IsOlder(a, than string) bool {
	first, err := version.ParseGeneric(a)
	if err != nil || a == config.DevelopmentVersion {
		return false
	}
	second, err := version.ParseGeneric(than)
	return err == nil && than != config.DevelopmentVersion && first.LessThan(second)
}
