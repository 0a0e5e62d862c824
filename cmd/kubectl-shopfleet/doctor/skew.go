package doctor

import "k8s.io/apimachinery/pkg/util/version"

// The results of Skew.
const (
	SkewSupported   = "Supported"
	SkewUnsupported = "Unsupported"
	SkewUnknown     = "Unknown"
)

// Skew compares the versions of two programs, which must have the same minor version.
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
	if first.Major() == second.Major() && first.Minor() == second.Minor() {
		return SkewSupported
	}
	return SkewUnsupported
}
