package hubstate

import (
	"slices"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The kinds that are observed, by the names that the page has for them.
const (
	Apps     = "EcommerceApps"
	Members  = "MemberClusters"
	Backups  = "Backups"
	Restores = "Restores"
	Accounts = "CloudAccounts"
)

// Kinds returns the kinds that are observed, in the order in which they are named.
func Kinds() []string { return []string{Apps, Members, Backups, Restores, Accounts} }

// Snapshot represents the objects of a hub at one time. It is never changed, nor is what it refers to, and may be read by
// many at a time.
type Snapshot struct {
	Hub Hub
	// The objects are sorted by namespace and name.
	Apps     []v1.EcommerceApp
	Members  []v1.MemberCluster
	Backups  []v1.Backup
	Restores []v1.Restore
	Accounts []v1.CloudAccount
	// Sources has an entry for each kind, in the order of Kinds.
	Sources []Source
}

// Hub describes the hub that is observed.
type Hub struct {
	// Server is the address of its API server.
	Server string
	// Version is the version of its leader when the observation began; empty if it is unknown.
	Version string
	// Namespace is the only one whose objects are observed; empty for all.
	Namespace string
	// Grafana is the address of the dashboard, http or https; empty if it is unknown.
	Grafana string
	Lease   Lease
}

// Source says what is known of the objects of one kind.
type Source struct {
	Kind string
	// Read is set while objects are known: they were listed once, and may be listed still.
	Read bool
	// Forbidden is set if the user may not list the kind, and Unwatched if the user may list it, but not watch it.
	Forbidden, Unwatched bool
	// Problem is the error of the last request; empty if it succeeded.
	Problem string
	// Since is when the problem began, or when what is not watched was listed; zero without one. The objects may be as old as
	// that.
	Since time.Time
}

// Knows reports whether the objects of all of some kinds are known: an empty list of a kind that is not tells nothing.
func (s *Snapshot) Knows(kinds ...string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		source := s.Source(kind)
		return !source.Read || source.Forbidden
	})
}

// Source returns what is known of a kind.
func (s *Snapshot) Source(kind string) Source {
	i := slices.IndexFunc(s.Sources, func(source Source) bool { return source.Kind == kind })
	if i < 0 {
		return Source{Kind: kind}
	}
	return s.Sources[i]
}
