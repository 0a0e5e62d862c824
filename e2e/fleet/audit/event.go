package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Event is one request that the API server has answered, or is processing.
type Event struct {
	// ID is the server's name for the request.
	ID string
	// Stage is ResponseComplete, or Panic.
	Stage string
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	// Requests outside the resource API have the lower case HTTP method.
	Verb string
	// URI is the path and query of the request.
	URI string

	// Group is the API group, empty for the core group. Resource is the plural
	// name; Subresource, Namespace and Name are empty where there is none.
	Group       string
	Version     string
	Resource    string
	Subresource string
	Namespace   string
	Name        string

	// User holds the name of the requesting user; ServiceAccounts are system:serviceaccount:NAMESPACE:NAME.
	User      string
	UserAgent string
	// Credential identifies the token of a ServiceAccount that the request came with. It is
	// empty for other users.
	Credential string

	// Code is the HTTP status of the response.
	Code int
	// Received is when the request came in, Completed when this event was written.
	Received  time.Time
	Completed time.Time

	// Object is the object in the response, as JSON, where the audit policy includes it: of
	// writes to the status of an object of Shopfleet. It is empty for other requests.
	Object string
}

// Write reports whether the request asked to change stored state: Code holds whether
// it was allowed to. Dry runs change nothing, nor do reviews and tokens, which
// are created but not stored.
func (e Event) Write() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return false
	}
	switch {
	case e.Resource == "", e.Subresource == "token", e.Group == "authentication.k8s.io", e.Group == "authorization.k8s.io":
		return false
	}
	return !e.DryRun()
}

// InitialEvents reports whether the request is a watch that begins with the present state
// of the collection, in place of a list.
func (e Event) InitialEvents() bool {
	uri, err := url.ParseRequestURI(e.URI)
	return err == nil && e.Verb == "watch" && uri.Query().Get("sendInitialEvents") == "true"
}

// DryRun reports whether the request was a dry run.
func (e Event) DryRun() bool {
	uri, err := url.ParseRequestURI(e.URI)
	return err == nil && uri.Query().Has("dryRun")
}

// Succeeded reports whether the response was a success.
func (e Event) Succeeded() bool {
	return e.Code >= http.StatusOK && e.Code < http.StatusMultipleChoices
}

// String returns one line for the message of a failed test.
func (e Event) String() string {
	what := e.Resource
	if e.Group != "" {
		what += "." + e.Group
	}
	if e.Subresource != "" {
		what += "/" + e.Subresource
	}
	if what == "" {
		what = e.URI
	}
	return fmt.Sprintf("%s %d %s %s %s by %s", e.Received.Format("15:04:05.000000"), e.Code, e.Verb, what,
		strings.TrimPrefix(e.Namespace+"/"+e.Name, "/"), e.User)
}

// line is the form of the log file, as far as it is used.
type line struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	ResponseObject           json.RawMessage `json:"responseObject"`
	RequestReceivedTimestamp time.Time       `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time       `json:"stageTimestamp"`
}

// credentialID is the key of a token's ID in the data about a user.
const credentialID = "authentication.kubernetes.io/credential-id"

func (l line) event() Event {
	return Event{
		ID:          l.AuditID,
		Stage:       l.Stage,
		Verb:        l.Verb,
		URI:         l.RequestURI,
		Group:       l.ObjectRef.APIGroup,
		Version:     l.ObjectRef.APIVersion,
		Resource:    l.ObjectRef.Resource,
		Subresource: l.ObjectRef.Subresource,
		Namespace:   l.ObjectRef.Namespace,
		Name:        l.ObjectRef.Name,
		User:        l.User.Username,
		UserAgent:   l.UserAgent,
		Credential:  strings.Join(l.User.Extra[credentialID], ","),
		Code:        l.ResponseStatus.Code,
		Received:    l.RequestReceivedTimestamp,
		Completed:   l.StageTimestamp,
		Object:      string(l.ResponseObject),
	}
}
