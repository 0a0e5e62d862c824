package crash

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// Request describes a request to an API server or a cloud.
type Request struct {
	// Cluster is the name of the cluster that it goes to.
	Cluster string
	// Verb is get, list, create, update, patch, apply or delete.
	Verb string
	// Resource is the plural with its group and its subresource.
	Resource string
	// Namespace and Name are those in the path. A created object has no name there.
	Namespace, Name string
	// Body is the body of a request that creates or changes an object.
	Body []byte
}

// Parse describes a request to the API server of a cluster. It reports whether the request changes
// stored state on which a later step depends: no dry run, event, Lease, token or access review does.
func Parse(cluster string, request *http.Request) (Request, bool) {
	r := Request{Cluster: cluster}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group, parts := groupOf(parts)
	if len(parts) > 2 && parts[0] == "namespaces" { // With two parts it is a namespace itself.
		r.Namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 {
		return r, false
	}
	r.Resource = parts[0]
	if group != "" {
		r.Resource += "." + group
	}
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Resource += "/" + parts[2]
	}
	r.Verb = verbOf(request, r.Name != "")
	if slices.Contains([]string{"", "get", "list"}, r.Verb) || request.URL.Query().Has("dryRun") || r.passes(group) {
		return r, false
	}
	r.Body = bodyOf(request)
	return r, true
}

// passes reports whether what a request of the group writes passes without a trace.
func (r Request) passes(group string) bool {
	return slices.Contains([]string{"events.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}, group) ||
		slices.Contains([]string{"events", "serviceaccounts/token"}, r.Resource)
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

func verbOf(request *http.Request, named bool) string {
	switch request.Method {
	case http.MethodGet:
		if named {
			return "get"
		}
		return "list"
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
