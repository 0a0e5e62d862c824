package invariants

import (
	"cmp"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// retryWindow and retryLimit bound how often one request may fail.
const (
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
	Cluster, Resource, Namespace, Name string
}

func (e Expected) matches(r request) bool {
	named, err := path.Match(cmp.Or(e.Name, "*"), r.Name)
	return err == nil && named && cmp.Or(e.Cluster, r.cluster) == r.cluster &&
		cmp.Or(e.Resource, r.Resource) == r.Resource && cmp.Or(e.Namespace, r.Namespace) == r.Namespace
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
		case r.Verb == "delete" && r.Resource == "customresourcedefinitions": // Its objects go with it.
			resource, group, _ := strings.Cut(r.Name, ".")
			of := strings.Join([]string{r.cluster, group, resource, ""}, "/")
			maps.DeleteFunc(exists, func(name string, _ bool) bool { return name == object || strings.HasPrefix(name, of) })
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
// 10 seconds. A missing object is no failure, nor is it that kube-system is closed to the hub, which asks for that in a dry
// run with each connection.
func HotLoops(l Logs) []string {
	var found []string
	failed := map[string][]time.Time{}
	for _, r := range l.timeline(func(e audit.Event) bool {
		closed := e.Code == http.StatusForbidden && e.Namespace == metav1.NamespaceSystem && e.DryRun()
		return own(e) && e.Code >= http.StatusBadRequest && e.Code != http.StatusNotFound && e.Resource != "" && !closed
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
