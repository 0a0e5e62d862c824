package apply

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// sendError is returned if an applied object was not accepted.
type sendError struct {
	kind, name string
	err        error
}

func (e *sendError) Error() string { return fmt.Sprintf("applying %s %q: %v", e.kind, e.name, e.err) }

// Unwrap returns the error of the client.
func (e *sendError) Unwrap() error { return e.err }

// ConcernsObject marks the error for package apierror: an API server that fails on it may accept others.
func (e *sendError) ConcernsObject() {}

// LostError is returned if a Secret is missing that existing data was encrypted or
// initialized with. Nothing was written, because newly generated values could not access
// the data.
type LostError struct {
	// Key identifies the Secret.
	Key component.Key
	// Data is the name of the claim with the data.
	Data string
}

// Error returns a deterministic message that says what to do.
func (e *LostError) Error() string {
	return fmt.Sprintf("restore %s %q, which the data in claim %s depends on, or give the data up: delete the claim, and annotate the application with %s: <token>",
		e.Key.Kind, e.Key.Name, e.Data, v1.StartEmptyAnnotation)
}

// ConditionReason returns the reason of the condition that reports the error.
func (e *LostError) ConditionReason() string { return v1.ReasonCredentialsMissing }

// ConflictError is returned if an object of the desired name exists and is not owned by
// the application. Nothing was written.
type ConflictError struct {
	// Key identifies the object.
	Key component.Key
	// Controller is the kind of the object's controller; empty if it has none, so that it
	// can be adopted by annotation.
	Controller string
	// Differences are the paths of the fields that adoption would change; see the function
	// of that name. They are not determined for an object with a controller.
	Differences []string
}

// maxDifferences is the number of differences that a message lists.
const maxDifferences = 5

// Error returns a deterministic message that says what to do.
func (e *ConflictError) Error() string {
	if e.Controller != "" {
		return fmt.Sprintf("%s %q exists and is controlled by a %s: rename one of them", e.Key.Kind, e.Key.Name, e.Controller)
	}
	policy, change := v1.AdoptIfNoDiff, "has the desired content"
	if n := len(e.Differences); n > 0 {
		policy, change = v1.AdoptAlways, "differs in "+strings.Join(e.Differences[:min(n, maxDifferences)], ", ")
		if n > maxDifferences {
			change += fmt.Sprintf(" and %d more fields", n-maxDifferences)
		}
	}
	// The remedy comes first, because long messages are truncated.
	return fmt.Sprintf("annotate %s %q with %s=%s to adopt it, or delete it: it exists, is not owned by this application and %s",
		e.Key.Kind, e.Key.Name, v1.AdoptAnnotation, policy, change)
}

// ConditionReason returns the reason of the condition that reports the error.
func (e *ConflictError) ConditionReason() string { return v1.ReasonConflict }

// ContendedError is returned if another client changes fields of an owned object each time
// they were repaired. Nothing was written.
type ContendedError struct {
	// Key identifies the object.
	Key component.Key
	// Fields are the paths of the fields; see Differences.
	Fields []string
	// Manager is the field manager of the other client; empty if unknown.
	Manager string
	// Scales means that the other client wrote the number of replicas as autoscalers do, and Autoscaler is the
	// HorizontalPodAutoscaler that scales the object; empty without one. The controllers of Kubernetes share its
	// field manager, which a user cannot stop.
	Scales     bool
	Autoscaler string
	// RetryIn is the time until the fields may be repaired again.
	RetryIn time.Duration
}

// Error returns a deterministic message that says what to do.
func (e *ContendedError) Error() string {
	fields := strings.Join(e.Fields[:min(len(e.Fields), maxDifferences)], ", ")
	if n := len(e.Fields); n > maxDifferences {
		fields += fmt.Sprintf(" and %d more fields", n-maxDifferences)
	}
	return fmt.Sprintf("%s: it changes %s of %s %q, which is repaired once in %d minutes",
		e.remedy(), fields, e.Key.Kind, e.Key.Name, int(RepairWindow.Minutes()))
}

// remedy returns the text that names the client that changes the fields, and what a user can do.
func (e *ContendedError) remedy() string {
	instead := "or change the application"
	if e.Scales && e.Key.Kind == "Deployment" {
		instead = "or set autoscaling of the component in place of replicas"
	}
	switch {
	case e.Autoscaler != "":
		return fmt.Sprintf("delete HorizontalPodAutoscaler %q, %s", e.Autoscaler, instead)
	case e.Scales:
		return fmt.Sprintf("stop what scales it with field manager %q, such as an autoscaler, %s", cmp.Or(e.Manager, "unknown"), instead)
	default:
		return fmt.Sprintf("stop field manager %q, %s", cmp.Or(e.Manager, "unknown"), instead)
	}
}

// ConditionReason returns the reason of the condition that reports the error.
func (e *ContendedError) ConditionReason() string { return v1.ReasonFieldManagerConflict }
