package crashpoints_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework/crash"
)

// write is a request of the hub that changes stored state.
type write struct{ crash.Request }

// site returns the name of what the hub does there, without that of the namespace.
func (w write) site() string {
	site := w.Cluster + "/" + w.Verb + "/" + w.Resource
	if w.Name != "" {
		site += ":" + maskedName(w.Name)
	}
	return site
}

// isRecord reports whether the request writes the record of a member.
func (w write) isRecord() bool {
	return w.Namespace == config.Namespace && w.Resource == "configmaps" && w.Name == config.HubRecord
}

// subject represents the application that a run is about, and what belongs to it.
type subject struct {
	namespace string
	// app is the UID of the application; empty if it does not exist yet.
	app string
	// owner returns the namespace that an object without one belongs to; empty if it belongs to none. It may be nil.
	owner func(write) string
	// fleetwide includes the writes about members.
	fleetwide bool
}

// has reports whether a write is about the subject.
func (s subject) has(w write) bool {
	switch {
	case s.fleetwide && w.fleetwide():
		return true
	case w.isRecord():
		return s.app != "" && bytes.Contains(w.Body, []byte(s.app))
	case w.Namespace != "":
		return w.Namespace == s.namespace
	default:
		return w.Name == s.namespace || bytes.Contains(w.Body, []byte(s.namespace)) || s.owner != nil && s.owner(w) == s.namespace
	}
}

// once reports whether only the first write of its site is about the subject: the record of a
// member has the applications that were deleted before, too.
func (s subject) once(w write) bool { return w.isRecord() && !s.fleetwide }

// fleetwide reports whether the request is about a member, not about an application.
func (w write) fleetwide() bool {
	return w.Namespace == config.Namespace || strings.HasPrefix(w.Resource, "memberclusters.") ||
		strings.HasPrefix(w.Resource, "customresourcedefinitions.")
}

// parse returns the write that a request asks for, and false for all other requests. It has its body
// only where nothing else says what it is about: an object without a namespace is created, or the record
// of a member is written.
func parse(cluster string, request *http.Request) (crash.Request, bool) {
	r, ok := crash.Parse(cluster, request)
	if (r.Namespace != "" || r.Name != "") && !(write{r}).isRecord() {
		r.Body = nil
	}
	return r, ok
}

// point is one place to kill the hub at.
type point struct {
	// workload is the name of the workload.
	workload string
	// site is the write.
	site string
	// nth counts the writes of that site in the workload, from 1.
	nth    int
	moment crash.Moment
}

// String returns the key of the point.
func (p point) String() string {
	return fmt.Sprintf("%s/%s#%d@%s", p.workload, p.site, p.nth, p.moment)
}
