package oracle

import (
	"cmp"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

const (
	// editPatience is how long after the edit of its owner an object may be deleted.
	editPatience = 2 * time.Minute
	// retryWindow and retryLimit bound how often one request may fail.
	retryWindow = 10 * time.Second
	retryLimit  = 100
)

// Logs are the audit logs of a fleet, by cluster.
type Logs map[string]audit.Log

// request is one request to one cluster.
type request struct {
	cluster string
	audit.Event
}

// String returns one line for the message of a failed test.
func (r request) String() string { return r.cluster + ": " + r.Event.String() }

// timeline returns the requests to all clusters that the function accepts, oldest first.
// All clusters of a fleet have one clock.
func (l Logs) timeline(accept func(audit.Event) bool) []request {
	var all []request
	for cluster, log := range l {
		for _, e := range log.Where(accept) {
			if e.Resource == "namespaces" { // The log has the name there too, except for creations.
				e.Namespace = ""
			}
			all = append(all, request{cluster, e})
		}
	}
	slices.SortStableFunc(all, func(a, b request) int {
		return cmp.Or(a.Received.Compare(b.Received), strings.Compare(a.cluster, b.cluster))
	})
	return all
}

// own reports whether a request is one of Shopfleet's accounts.
func own(e audit.Event) bool {
	return strings.HasPrefix(e.User, "system:serviceaccount:"+config.Namespace+":")
}

// byUser reports whether a person sent a request, and not a part of Kubernetes.
func byUser(e audit.Event) bool {
	return !own(e) && !strings.HasPrefix(e.User, "system:") && e.User != "kwok"
}

// Expected chooses deletions that a test asked for in a way that audit logs do not show.
// Empty fields match all.
type Expected struct {
	// Resource is a plural, Namespace a namespace, Name a pattern as of path.Match.
	Resource, Namespace, Name string
}

func (x Expected) matches(e audit.Event) bool {
	named, err := path.Match(cmp.Or(x.Name, "*"), e.Name)
	return err == nil && named && cmp.Or(x.Resource, e.Resource) == e.Resource && cmp.Or(x.Namespace, e.Namespace) == e.Namespace
}

// guarded reports whether the deletion of an object loses something: data, traffic, or
// the means to restore.
func guarded(e audit.Event) bool {
	switch e.Resource {
	case "deployments", "statefulsets", "daemonsets", "services", "secrets", "namespaces", "customresourcedefinitions",
		claims, volumes, "ecommerceapps", "webapps", "mysqlclusters", "backups", "restores", "memberclusters",
		"cloudaccounts", "volumesnapshots", "volumesnapshotcontents":
		return e.Subresource == ""
	}
	return false
}

const (
	claims  = "persistentvolumeclaims"
	volumes = "persistentvolumes"
)

// UnexpectedDeletes returns a line for each successful deletion by Shopfleet of a workload, a
// claim, a Secret, a Service, a copy, a backup or another object of value that no user asked for.
func UnexpectedDeletes(l Logs, expected ...Expected) []string {
	var found []string
	known := newRequests()
	for _, r := range l.timeline(func(e audit.Event) bool { return e.Write() && e.Succeeded() }) {
		switch {
		case byUser(r.Event):
			known.note(r.Event)
		case !own(r.Event), !strings.HasPrefix(r.Verb, "delete"), !guarded(r.Event), known.asked(r.Event):
		case slices.ContainsFunc(expected, func(x Expected) bool { return x.matches(r.Event) }):
		default:
			found = append(found, r.String())
		}
	}
	return found
}

// key names an object of one kind in any cluster.
type key struct{ resource, namespace, name string }

// requests holds the requests of users so far.
type requests struct {
	// deleted has the owners that were deleted and not created again, edited the times of the
	// last edits.
	deleted map[key]bool
	edited  map[key]time.Time
}

func newRequests() *requests { return &requests{deleted: map[key]bool{}, edited: map[key]time.Time{}} }

func (q *requests) note(e audit.Event) {
	if e.Subresource != "" {
		return
	}
	k := key{e.Resource, e.Namespace, e.Name}
	switch e.Verb {
	case "create":
		delete(q.deleted, k)
		if e.Resource == "restores" { // It replaces what it restores.
			q.edited[k] = e.Received
		}
	case "update", "patch":
		if e.Code == http.StatusCreated { // By server-side apply.
			delete(q.deleted, k)
			return
		}
		q.edited[k] = e.Received
	default:
		q.deleted[k] = true
	}
}

// asked reports whether a user asked for a deletion, by what was done to the owner before.
func (q *requests) asked(e audit.Event) bool {
	if q.deleted[key{"namespaces", "", e.Namespace}] {
		return true
	}
	for k := range q.deleted {
		if owns(k, e) || k.resource == "restores" && restores(k, e) {
			return true
		}
	}
	for k, at := range q.edited {
		if k.resource == "restores" && restores(k, e) {
			return true
		}
		if owns(k, e) && e.Resource != claims && e.Resource != volumes && e.Received.Sub(at) < editPatience {
			return true
		}
	}
	return false
}

// owns reports whether an object belongs to an owner by its name: it is a copy of it, or
// its name begins with the owner's.
func owns(owner key, e audit.Event) bool {
	switch owner.resource {
	case "ecommerceapps", "webapps", "mysqlclusters", "backups":
	case "memberclusters", "cloudaccounts":
		return e.Resource == owner.resource && e.Name == owner.name
	default:
		return false
	}
	if owner.namespace != e.Namespace {
		return false
	}
	if owner.resource == e.Resource {
		return owner.name == e.Name
	}
	return e.Name == owner.name || strings.HasPrefix(e.Name, owner.name+"-")
}

// restores reports whether a Restore may replace an object: volumes and what holds them.
func restores(restore key, e audit.Event) bool {
	switch e.Resource {
	case volumes:
		return true
	case claims, "statefulsets", "secrets", "services":
		return e.Namespace == restore.namespace
	}
	return false
}

// Duplicates returns a line for each object that Shopfleet created although it had been created
// and not deleted.
func Duplicates(l Logs) []string {
	var found []string
	exists := map[string]bool{}
	for _, r := range l.timeline(func(e audit.Event) bool { return e.Write() && e.Succeeded() && e.Subresource == "" }) {
		object := strings.Join([]string{r.cluster, r.Group, r.Resource, r.Namespace, r.Name}, "/")
		switch {
		case r.Verb == "deletecollection": // It may be for some objects only, which the log does not say.
			maps.DeleteFunc(exists, func(name string, _ bool) bool { return strings.HasPrefix(name, object) })
		case r.Name == "":
		case r.Verb == "delete":
			delete(exists, object)
		case r.Code == http.StatusCreated:
			if exists[object] && own(r.Event) {
				found = append(found, r.String())
			}
			exists[object] = true
		}
	}
	return found
}

// HotLoops returns a line for each request of Shopfleet that failed more than 100 times in
// 10 seconds. A missing object is no failure.
func HotLoops(l Logs) []string {
	var found []string
	failed := map[string][]time.Time{}
	for _, r := range l.timeline(func(e audit.Event) bool {
		return own(e) && e.Code >= http.StatusBadRequest && e.Code != http.StatusNotFound && e.Resource != ""
	}) {
		same := strings.Join([]string{r.cluster, r.User, r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, r.Name}, "/")
		recent := slices.DeleteFunc(failed[same], func(at time.Time) bool { return r.Received.Sub(at) > retryWindow })
		failed[same] = append(recent, r.Received)
		if len(failed[same]) == retryLimit+1 {
			found = append(found, r.String())
		}
	}
	return found
}
