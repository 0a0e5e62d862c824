package restore

import (
	"context"

	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// steps returns the steps of a Restore in their order, by its strategy, once its Backup is
// known.
func (w *work) steps() []steps.Step {
	switch verify := w.restore.Spec.Verify; {
	case w.isDump() && verify:
		return []steps.Step{
			{Name: "Resolve", Run: steps.Then(inMember(w.findTarget), w.chooseDump)},
			{Name: "Load", Run: w.loadVerification}, {Name: "Prove", Run: inMember(w.verify)},
		}
	case w.isDump():
		return []steps.Step{{Name: "Resolve", Run: inMember(w.findTarget)}, {Name: "Load", Run: w.loadDump}}
	case verify:
		return []steps.Step{
			{Name: "Resolve", Run: inMember(w.chooseSnapshots)}, {Name: "Import", Run: inMember(w.createVolumes)},
			{Name: "Bind", Run: inMember(w.replaceClaims)}, {Name: "Prove", Run: inMember(w.verify)},
		}
	default:
		return []steps.Step{
			{Name: "Resolve", Run: inMember(w.chooseSnapshots)}, {Name: "Import", Run: inMember(w.createVolumes)},
			{Name: "Stop", Run: inMember(w.stopDatabase)}, {Name: "Bind", Run: inMember(w.replaceClaims)},
			{Name: "Start", Run: steps.Then(inMember(w.copySecrets), inMember(w.startDatabase))},
		}
	}
}

// inMember returns the Run of a step that has no error of the hub's API server.
func inMember(run func(context.Context) steps.Result) func(context.Context) (steps.Result, error) {
	return func(ctx context.Context) (steps.Result, error) { return run(ctx), nil }
}

// advance finds what the Restore works on, and runs its steps.
func (w *work) advance(ctx context.Context) (steps.Result, error) {
	if result, err := w.find(ctx); result.Stops() || err != nil {
		return result, err
	}
	return steps.Advance(ctx, w.steps(), &w.restore.Status.Steps, w.now)
}
