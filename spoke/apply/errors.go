package apply

import (
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

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
	return fmt.Sprintf("%s %q exists and is not ours: delete it, or annotate it with %s=true to hand it over",
		e.Key.Kind, e.Key.Name, v1.AdoptAnnotation)
}
