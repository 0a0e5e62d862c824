package component

import (
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Transitions returns the phases that may follow each phase. A phase may always
// persist. Nothing follows Deleting.
//
//	Pending   -> Creating, Running, Failed, Paused, Deleting
//	Creating  -> Running, Failed, Paused, Deleting
//	Running   -> Updating, Scaling, Failed, Paused, Deleting
//	Updating  -> Running, Scaling, Failed, Paused, Deleting
//	Scaling   -> Running, Updating, Failed, Paused, Deleting
//	Failed    -> Creating, Running, Updating, Scaling, Paused, Deleting
//	Paused    -> Creating, Running, Updating, Scaling, Failed, Deleting
func Transitions() map[v1.Phase][]v1.Phase {
	return map[v1.Phase][]v1.Phase{
		v1.PhasePending:  {v1.PhaseCreating, v1.PhaseRunning, v1.PhaseFailed, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhaseCreating: {v1.PhaseRunning, v1.PhaseFailed, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhaseRunning:  {v1.PhaseUpdating, v1.PhaseScaling, v1.PhaseFailed, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhaseUpdating: {v1.PhaseRunning, v1.PhaseScaling, v1.PhaseFailed, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhaseScaling:  {v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseFailed, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhaseFailed:   {v1.PhaseCreating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling, v1.PhasePaused, v1.PhaseDeleting},
		v1.PhasePaused:   {v1.PhaseCreating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling, v1.PhaseFailed, v1.PhaseDeleting},
		v1.PhaseDeleting: nil,
	}
}

// Known reports whether a phase is valid for an application. Other values in a status
// were written by users, and are recomputed.
func Known(phase v1.Phase) bool {
	_, known := Transitions()[phase]
	return known
}

// Legal reports whether an application may change from one phase to another.
func Legal(from, to v1.Phase) bool {
	return from == to && Known(to) || slices.Contains(Transitions()[from], to)
}
