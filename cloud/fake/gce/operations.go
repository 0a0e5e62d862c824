package gce

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// operation is a change that was accepted.
type operation struct {
	project, scope, name, id string
	kind                     string // operationType.
	target                   string // Path from projects/ on.
	targetID                 string
	who                      string
	requestID                string
	started                  time.Time
	// snapshot is the ID of the snapshot whose state determines the result.
	snapshot string
	// code and message say why it failed, before anything was made.
	code, message string
}

// begin starts an operation, or returns the one that a request with the same ID started:
// whatever that came to, nothing happens a second time.
func (s *Server) begin(r request, op operation, change func(*operation) error) (any, error) {
	op.project, op.scope, op.who, op.started = r.project, r.scope, r.who, s.clock.Now()
	op.requestID = r.URL.Query().Get("requestId")
	if op.requestID != "" {
		valid, err := regexp.MatchString(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`, op.requestID)
		if err != nil || !valid || strings.Trim(op.requestID, "0-") == "" {
			return nil, invalid("Invalid value for field 'requestId': '%s'. Must be a valid, non-zero UUID.", op.requestID)
		}
		for _, earlier := range s.operations {
			if earlier.project == op.project && earlier.requestID == op.requestID {
				return s.describe(earlier, true), nil
			}
		}
	}
	if err := change(&op); err != nil {
		return nil, err
	}
	n := s.cloud.Serial()
	op.id, op.name = fmt.Sprint(5_000_000_000_000_000_000+n), fmt.Sprintf("operation-%d", n)
	s.operations = append(s.operations, op)
	return s.describe(op, false), nil
}

// describe returns an operation as it is now; asked is true if a request reads it.
func (s *Server) describe(op operation, asked bool) map[string]any {
	path := "projects/" + op.project + "/" + op.scope
	out := map[string]any{
		"kind": "compute#operation", "id": op.id, "name": op.name, "operationType": op.kind,
		"targetLink": link(op.target), "targetId": op.targetID, "user": op.who, "status": "RUNNING", "progress": 0,
		"insertTime": timestamp(op.started), "startTime": timestamp(op.started),
		"selfLink": link(path + "/operations/" + op.name),
	}
	done, code, message := s.outcome(op)
	if !asked || !done {
		return out
	}
	out["status"], out["progress"], out["endTime"] = "DONE", 100, timestamp(s.clock.Now())
	if code != "" {
		out["error"] = map[string]any{"errors": []any{map[string]any{"code": code, "message": message}}}
		out["httpErrorStatusCode"], out["httpErrorMessage"] = 400, "BAD REQUEST"
	}
	return out
}

// outcome reports whether an operation is done, and why it failed if it did.
func (s *Server) outcome(op operation) (done bool, code, message string) {
	if op.snapshot == "" || op.code != "" {
		return true, op.code, op.message
	}
	snapshot, found := s.truth(op.snapshot)
	switch {
	case !found:
		return true, "", ""
	case snapshot.State == cloud.StateFailed:
		return true, "INTERNAL_ERROR", snapshot.Message
	default:
		return snapshot.State == cloud.StateReady, "", ""
	}
}

// truth reads a snapshot whether it is visible yet or not.
func (s *Server) truth(id string) (fake.Snapshot, bool) {
	for _, snapshot := range s.cloud.Snapshots() {
		if snapshot.ID == id {
			return snapshot, true
		}
	}
	return fake.Snapshot{}, false
}

func (s *Server) getOperation(r request) (any, error) {
	for _, op := range s.operations {
		if name := r.PathValue("operation"); op.project == r.project && op.scope == r.scope && (op.name == name || op.id == name) {
			return s.describe(op, true), nil
		}
	}
	return nil, notFound("projects/" + r.project + "/" + r.scope + "/operations/" + r.PathValue("operation"))
}

func (s *Server) listOperations(r request) (any, error) {
	var items []map[string]any
	for _, op := range s.operations {
		if op.project == r.project && op.scope == r.scope {
			items = append(items, s.describe(op, true))
		}
	}
	return s.page(r, "operationList", items)
}
