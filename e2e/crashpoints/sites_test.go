package crashpoints_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/shopfleet/shopfleet/config"
)

// write is a request of the hub that changes stored state.
type write struct {
	// cluster is the name of the cluster that the request goes to.
	cluster string
	// verb is create, update, patch, apply or delete.
	verb string
	// resource is the plural with its group and its subresource.
	resource string
	// namespace and name are those in the path. A created object has no name there.
	namespace, name string
	// body is that of a request to the cloud, to create an object without a namespace, or to write
	// the record of a member.
	body []byte
}

// site returns the name of what the hub does there, without that of the namespace.
func (w write) site() string {
	site := w.cluster + "/" + w.verb + "/" + w.resource
	if w.name != "" {
		site += ":" + uuids.ReplaceAllString(w.name, "UID")
	}
	return site
}

// isRecord reports whether the request writes the record of a member.
func (w write) isRecord() bool {
	return w.namespace == config.Namespace && w.resource == "configmaps" && w.name == config.HubRecord
}

// subject represents the application that a run is about, and what belongs to it.
type subject struct {
	namespace string
	// app is the UID of the application; empty if it does not exist yet.
	app string
	// volumes are the names of the PersistentVolumes that it has before the step.
	volumes []string
	// fleetwide includes the writes about members.
	fleetwide bool
}

// has reports whether a write is about the subject.
func (s subject) has(w write) bool {
	switch {
	case s.fleetwide && w.fleetwide():
		return true
	case w.isRecord():
		return s.app != "" && bytes.Contains(w.body, []byte(s.app))
	case w.namespace != "":
		return w.namespace == s.namespace
	default:
		return w.name == s.namespace || slices.Contains(s.volumes, w.name) || bytes.Contains(w.body, []byte(s.namespace))
	}
}

// once reports whether only the first write of its site is about the subject: the record of a
// member has the applications that were deleted before, too.
func (s subject) once(w write) bool { return w.isRecord() && !s.fleetwide }

// fleetwide reports whether the request is about a member, not about an application.
func (w write) fleetwide() bool {
	return w.namespace == config.Namespace || strings.HasPrefix(w.resource, "memberclusters.") ||
		strings.HasPrefix(w.resource, "customresourcedefinitions.")
}

// parse returns the write that a request asks for, and false for all other requests, and for
// the records that are not part of a workload: Leases and events.
func parse(cluster string, request *http.Request) (write, bool) {
	verb := verbOf(request)
	if verb == "" || request.URL.Query().Has("dryRun") {
		return write{}, false
	}
	w := write{cluster: cluster, verb: verb}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group, parts := groupOf(parts)
	if len(parts) > 2 && parts[0] == "namespaces" { // With two parts it is a namespace itself.
		w.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 || slices.Contains([]string{"events.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}, group) {
		return write{}, false
	}
	w.resource = parts[0]
	if group != "" {
		w.resource += "." + group
	}
	if len(parts) > 1 {
		w.name = parts[1]
	}
	if len(parts) > 2 {
		w.resource += "/" + parts[2]
	}
	if w.resource == "events" || w.resource == "serviceaccounts/token" {
		return write{}, false
	}
	if w.namespace == "" && w.name == "" || w.isRecord() {
		w.body = bodyOf(request)
	}
	return w, true
}

// groupOf returns the API group of a path, and the parts behind the version.
func groupOf(parts []string) (group string, rest []string) {
	switch {
	case len(parts) > 2 && parts[0] == "api":
		return "", parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		return parts[1], parts[3:]
	}
	return "", nil
}

func verbOf(request *http.Request) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	case http.MethodPatch:
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	}
	return ""
}

func bodyOf(request *http.Request) []byte {
	if request.GetBody == nil {
		return nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return raw
}

// moment is when the hub is killed, relative to a write.
type moment string

const (
	// beforeSend kills before the request is sent.
	beforeSend moment = "before-send"
	// afterCommit kills when the API server has answered, before the hub sees the response.
	afterCommit moment = "after-commit"
	// afterResponse kills when the hub has got the response.
	afterResponse moment = "after-response"
)

func moments() []moment { return []moment{beforeSend, afterCommit, afterResponse} }

// point is one place to kill the hub at.
type point struct {
	// workload is the name of the workload.
	workload string
	// site is the write.
	site string
	// nth counts the writes of that site in the workload, from 1.
	nth    int
	moment moment
}

// String returns the key of the point.
func (p point) String() string {
	return fmt.Sprintf("%s/%s#%d@%s", p.workload, p.site, p.nth, p.moment)
}
