package database

import "strings"

// SameFiles tells whether a server of one version reads the files of another without an
// upgrade: those of one major version do.
func SameFiles(a, b string) bool { return major(a) == major(b) }

// major is the part of a version that files depend on: the first number, and of
// versions below 10, as those of MySQL, the first two.
func major(version string) string {
	first, rest, _ := strings.Cut(version, ".")
	if len(first) > 1 {
		return first
	}
	second, _, _ := strings.Cut(rest, ".")
	return first + "." + second
}
