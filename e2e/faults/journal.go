package faults

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// Entry is a request that the proxy has received. Its Code is 0 while there is no response,
// and if there never was one. Its user is unknown to the proxy.
type Entry struct {
	audit.Event
	// Fault names the action that the request met, empty for none.
	Fault string
}

// Journal returns all requests so far, oldest first.
func (p *Proxy) Journal() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Entry, 0, len(p.journal))
	for _, e := range p.journal {
		all = append(all, *e)
	}
	return all
}

// Requests returns the journal as a log, for its filters.
func (p *Proxy) Requests() audit.Log {
	journal := p.Journal()
	log := make(audit.Log, len(journal))
	for i, e := range journal {
		log[i] = e.Event
	}
	return log
}

// describe returns what a request asks for.
func describe(r *http.Request) audit.Event {
	e := audit.Event{URI: r.URL.RequestURI(), UserAgent: r.UserAgent()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		e.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		e.Group, e.Version, parts = parts[1], parts[2], parts[3:]
	default: // Outside the resource API, as the audit log has it.
		e.Verb = strings.ToLower(r.Method)
		return e
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		e.Namespace, parts = parts[1], parts[2:]
	}
	e.Resource = parts[0]
	if len(parts) > 1 {
		e.Name = parts[1]
	}
	if len(parts) > 2 {
		e.Subresource = parts[2]
	}
	e.Verb = verb(r.Method, e.Name, r.URL.Query())
	return e
}

// verb returns the verb of the API.
func verb(method, name string, query url.Values) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
	case http.MethodGet, http.MethodHead:
		watch, err := strconv.ParseBool(query.Get("watch"))
		switch {
		case err == nil && watch:
			return "watch"
		case name == "":
			return "list"
		default:
			return "get"
		}
	}
	return strings.ToLower(method)
}
