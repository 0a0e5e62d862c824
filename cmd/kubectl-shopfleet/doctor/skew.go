package doctor

import "k8s.io/apimachinery/pkg/util/version"

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
