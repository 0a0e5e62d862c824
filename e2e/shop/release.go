package shop

import (
	"strconv"
	"strings"
)

// Release represents the features of one version of the shop.
type Release struct {
	// Version is the version that the linker wrote, for example v2.1.0.
	Version string
	// GiftNotes adds a note to orders, since v2.1.0.
	GiftNotes bool
}

// NewRelease returns the release of a version. A version that is no number, such
// as that of a build without one, is the newest.
func NewRelease(version string) Release {
	return Release{Version: version, GiftNotes: atLeast(version, 2, 1)}
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true
	}
	x, err := strconv.Atoi(parts[0])
	if err != nil {
		return true
	}
	y, err := strconv.Atoi(parts[1])
	if err != nil {
		return true
	}
	return x > major || x == major && y >= minor
}
