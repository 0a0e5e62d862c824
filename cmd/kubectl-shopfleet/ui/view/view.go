package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

const (
	// unknownRegion stands for the region of a cluster whose region is not known, as in status.regions.
	unknownRegion = "unknown"
	// notKnown stands for what would be computed of objects that are not known.
	notKnown = "not known"
	// maxListed bounds the names in one cell or one sentence.
	maxListed = 5
)

// Query selects what a screen shows.
type Query struct {
	// Search is a part of namespace/name; empty for all.
	Search string
	// App is the namespace and the name of one application; empty for none.
	App string
	// Region is the name of one region; empty for none.
	Region string
	// Page counts from 0.
	Page int
	// Whole is set to have all in one page.
	Whole bool
}

// Notice says that a part of what a screen shows is missing or old.
type Notice struct {
	Kind string
	// Forbidden is set if the user may not read the kind.
	Forbidden bool
	Text      string
}

// silenceOf says that no hub is known to keep statuses current; empty if one does.
func silenceOf(lease hubstate.Lease, now time.Time) string {
	switch {
	case lease.IsRenewed(now):
		return ""
	case lease.Forbidden:
		return "You may not read the Lease of the hub, so that it is not known whether it runs. If it does not, what is shown is outdated. Ask an administrator for the permission: " + lease.Problem
	case lease.Problem != "":
		return "It is not known whether the hub runs. If it does not, what is shown is outdated: " + lease.Problem
	case !lease.Read:
		return "Its Lease is being read."
	case lease.Renewed.IsZero():
		return "No hub has a Lease. What is shown is as a hub wrote it last, and nothing of it is of now."
	default:
		return "No hub has renewed its Lease for " + ageOf(now, lease.Renewed) + ". What is shown is as it wrote it last, and nothing of it is of now."
	}
}

// NoticesOf returns what is not known of the hub and of some kinds.
func NoticesOf(s *hubstate.Snapshot, now time.Time, kinds ...string) []Notice {
	var notices []Notice
	if text := silenceOf(s.Hub.Lease, now); text != "" {
		notices = append(notices, Notice{Kind: "Hub", Forbidden: s.Hub.Lease.Forbidden, Text: text})
	}
	for _, kind := range kinds {
		source := s.Source(kind)
		switch {
		case source.Forbidden:
			notices = append(notices, Notice{Kind: kind, Forbidden: true,
				Text: "You may not list " + kind + ", and nothing about them is shown. Ask an administrator for the permission: " + source.Problem})
		case source.Unwatched:
			notices = append(notices, Notice{Kind: kind, Forbidden: true,
				Text: "You may list " + kind + ", but not watch them. They are as they were " + ageOf(now, source.Since) + " ago, and are listed again within a minute. " +
					"Ask an administrator for the permission: " + source.Problem})
		case source.Problem != "" && source.Read:
			notices = append(notices, Notice{Kind: kind,
				Text: kind + " are as they were " + ageOf(now, source.Since) + " ago. The hub cannot be asked since: " + source.Problem})
		case source.Problem != "":
			notices = append(notices, Notice{Kind: kind, Text: kind + " cannot be read: " + source.Problem})
		case !source.Read:
			notices = append(notices, Notice{Kind: kind, Text: kind + " are being read."})
		}
	}
	return notices
}

// ageOf returns the time since then as kubectl does; one in the future, as clocks differ, is now.
func ageOf(now, at time.Time) string { return duration.HumanDuration(max(0, now.Sub(at))) }

// ageAt returns the time since then, or an empty string if there is none.
func ageAt(now time.Time, at *metav1.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return ageOf(now, at.Time)
}

// nameOf returns the namespace and the name of an object.
func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// regionOf returns the region of a cluster as status.regions names it.
func regionOf(name string) string { return cmp.Or(name, unknownRegion) }

// memberRegion returns the region of a member: the detected one, else that of its spec.
func memberRegion(m *v1.MemberCluster) string {
	return cmp.Or(m.Status.Region, m.Spec.Region, unknownRegion)
}

// isConnected reports whether the hub reaches a member.
func isConnected(m *v1.MemberCluster) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionConnected)
}

// matches reports whether an application has a part of a name.
func (q Query) matches(name string) bool {
	return q.Search == "" || strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(q.Search)))
}

// listed joins the first of some names, and says how many there are besides.
func listed(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pageSize bounds the rows of one page, of which a browser exchanges those with an age each second.
const pageSize = 100

// window returns a page of items, its number and the number of pages.
func window[T any](items []T, q Query) (shown []T, at, pages int) {
	size := pageSize
	if q.Whole {
		size = max(1, len(items))
	}
	pages = max(1, (len(items)+size-1)/size)
	at = min(max(q.Page, 0), pages-1)
	return items[at*size : min(len(items), (at+1)*size)], at, pages
}

// regionsOf returns the names of all regions that members or applications are in, sorted.
func regionsOf(s *hubstate.Snapshot) []string {
	found := map[string]bool{}
	for i := range s.Members {
		found[memberRegion(&s.Members[i])] = true
	}
	for i := range s.Apps {
		for j := range s.Apps[i].Status.Regions {
			found[s.Apps[i].Status.Regions[j].Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
