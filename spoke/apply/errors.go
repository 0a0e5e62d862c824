package apply

import (
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// LostError tells that a Secret is missing which data was made with. Nothing was
// written: what would be drawn now opens nothing.
type LostError struct {
	// Key is the Secret.
	Key component.Key
	// Data is the claim that holds the data.
	Data string
}

// Error says what to do. It is the same for the same loss.
func (e *LostError) Error() string {
	return fmt.Sprintf("restore %s %q, which the data in claim %s was made with, or delete the claim to begin anew",
		e.Key.Kind, e.Key.Name, e.Data)
}

// ConflictError tells that an object exists under a name that is wanted, and
// that it is not ours. Nothing was written.
type ConflictError struct {
	// Key is the object.
	Key component.Key
	// Controller is the kind of another object that controls it. Empty when
	// nothing does, so that the object may be handed over by annotation.
	Controller string
}

// Error says what to do. It is the same for the same conflict.
func (e *ConflictError) Error() string {
	if e.Controller != "" {
		return fmt.Sprintf("%s %q exists and belongs to a %s: rename one of them", e.Key.Kind, e.Key.Name, e.Controller)
	}
	// The remedy comes first, as a status may cut what is long.
	return fmt.Sprintf("annotate %s %q with %s=true to hand it over, or delete it: it exists and is not ours",
		e.Key.Kind, e.Key.Name, v1.AdoptAnnotation)
}
