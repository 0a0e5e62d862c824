package v1

import "slices"

// Steps of a Restore of snapshots that others ask for.
const (
	// RestoreStepStop stops the database.
	RestoreStepStop = "Stop"
	// RestoreStepRetire deletes the claims whose volumes are replaced, and those of replicas. From its beginning on a Restore
	// is not taken back, but by the steps from RestoreStepHalt to RestoreStepPutBack.
	RestoreStepRetire = "Retire"
	// RestoreStepStart starts the database on the restored volumes.
	RestoreStepStart = "Start"
	// RestoreStepHalt begins to put the replaced volumes back.
	RestoreStepHalt = "Halt"
	// RestoreStepPutBack ends to put the replaced volumes back.
	RestoreStepPutBack = "PutBack"
)

// Step returns the record of a step, or nil if it was not begun.
func (s *RestoreStatus) Step(name string) *StepStatus {
	if i := slices.IndexFunc(s.Steps, func(step StepStatus) bool { return step.Name == name }); i >= 0 {
		return &s.Steps[i]
	}
	return nil
}

// Replaced returns the volumes that took, or are to take, the place of another one. That one is kept.
func (s *RestoreStatus) Replaced() []RestoredVolume {
	if s.Step(RestoreStepRetire) == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Volumes), func(v RestoredVolume) bool { return v.Replaced == "" })
}

// IsPutBack reports whether the volumes that were replaced are put back.
func (s *RestoreStatus) IsPutBack() bool {
	last := s.Step(RestoreStepPutBack)
	return last != nil && last.EndTime != nil
}

// PutsBack reports whether the volumes that the Restore replaced are to be put back, and are not yet: a user asked for it by
// PutBackAnnotation. Once it was begun it is seen through.
func (r *Restore) PutsBack() bool {
	asked := r.Annotations[PutBackAnnotation] == "true" || r.Status.Step(RestoreStepHalt) != nil
	return asked && len(r.Status.Replaced()) > 0 && !r.Status.IsPutBack()
}
