package database

import "strings"

// SameFiles reports whether servers of two versions can read each other's files without
// an upgrade: servers of the same major version can.
func SameFiles(a, b string) bool { return major(a) == major(b) }

// major returns the part of a version that the file format depends on: the first number,
// or for versions below 10, such as those of MySQL, the first two.
func major(version string) string {
	first, rest, _ := strings.Cut(version, ".")
	if len(first) > 1 {
		return first
	}
	second, _, _ := strings.Cut(rest, ".")
	return first + "." + second
}
