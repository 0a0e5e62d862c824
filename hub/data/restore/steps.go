package restore

import (
	"context"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// Names of steps that others ask for. There is no way back from Retire.
const (
	stepImport = "Import"
	stepRetire = v1.RestoreStepRetire
	stepBind   = "Bind"
	// Before stepRelease the database serves.
	stepRelease = "Release"
	// From stepReturn on the database has what was replaced, unless stepRebind follows.
	stepReturn = "Return"
	stepRebind = "Rebind"
)

// steps returns the steps of a Restore in their order, by its strategy, once its Backup is
// known.
func (w *work) steps() []steps.Step {
	switch verify := w.restore.Spec.Verify; {
	case w.isDump() && verify:
		return []steps.Step{
			{Name: "Resolve", Run: steps.Then(inMember(w.findTarget), w.chooseDump)},
			{Name: "Load", Run: w.loadVerification}, {Name: "Prove", Run: inMember(w.proveDump)},
		}
	case w.isDump():
		return []steps.Step{{Name: "Resolve", Run: inMember(w.findTarget)}, {Name: "Load", Run: w.loadDump}}
	case verify:
		return []steps.Step{
			{Name: "Resolve", Run: inMember(w.chooseSnapshots), Once: true},
			{Name: stepImport, Run: inMember(w.importVolumes), Undo: w.removeImports, Once: true},
			{Name: "Prove", Run: inMember(w.proveSnapshot)},
		}
	default:
		return []steps.Step{
			{Name: "Resolve", Run: inMember(w.chooseSnapshots), Once: true},
			{Name: stepImport, Run: inMember(w.importVolumes), Undo: w.removeImports, Once: true},
			{Name: v1.RestoreStepStop, Run: steps.Then(inMember(w.stopDatabase), inMember(w.mayRetire)), Undo: w.startAgain, Once: true},
			{Name: stepRetire, Run: inMember(w.retireAll), NoWayBack: true, Once: true},
			{Name: stepBind, Run: inMember(w.bindClaims), Once: true},
			{Name: v1.RestoreStepStart, Run: inMember(w.startDatabase), Once: true},
			{Name: stepRelease, Run: w.removeImports, Once: true},
		}
	}
}

// inMember returns the Run of a step that has no error of the hub's API server.
func inMember(run func(context.Context) steps.Result) func(context.Context) (steps.Result, error) {
	return func(ctx context.Context) (steps.Result, error) { return run(ctx), nil }
}

// advance finds what the Restore works on, and runs its steps.
func (w *work) advance(ctx context.Context) (steps.Result, error) {
	migrated := migrate(w.restore, w.now) // A Restore that has replaced claims is not refused any more.
	if result, err := w.find(ctx); result.Stops() || err != nil {
		return result, err
	}
	if migrated.Stops() {
		return migrated, nil
	}
	if !w.isDump() {
		if result := w.findTarget(ctx); result.Stops() {
			return result, nil
		}
		if w.ended() && !w.bound() {
			return w.alreadyRestored(), nil
		}
	}
	return steps.Advance(ctx, w.steps(), &w.restore.Status.Steps, w.now)
}
