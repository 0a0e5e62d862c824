package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// OldestKubernetes is the oldest minor version of Kubernetes that hub, spoke and members may run, which has
// what the charts, definitions and pods need.
const OldestKubernetes = "1.30"

// NewestKubernetes is the newest minor version of Kubernetes that the tests run. A newer one is used all the same.
const NewestKubernetes = "1.36"

// SupportsKubernetes reports whether a version of an API server, for example v1.36.3-gke.100, is supported.
// One that is no version is.
func SupportsKubernetes(server string) bool {
	found, err := version.ParseGeneric(strings.TrimSpace(server))
	return err != nil || found.AtLeast(version.MustParseGeneric(OldestKubernetes))
}

// IsNewerThanTested reports whether a version of an API server has a later minor version than NewestKubernetes. One that
// is no version has not.
func IsNewerThanTested(server string) bool {
	found, err := version.ParseGeneric(strings.TrimSpace(server))
	return err == nil && found.AtLeast(version.MustParseGeneric(NewestKubernetes).AddMinor(1))
}
