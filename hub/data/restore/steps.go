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
			inMember("FindTarget", w.findTarget), {Name: "ChooseDump", Run: w.chooseDump},
			{Name: "LoadDump", Run: w.loadVerification}, inMember("Verify", w.verify),
		}
	case w.isDump():
		return []steps.Step{inMember("FindTarget", w.findTarget), {Name: "LoadDump", Run: w.loadDump}}
	case verify:
		return []steps.Step{
			inMember("ChooseSnapshots", w.chooseSnapshots), inMember("CreateVolumes", w.createVolumes),
			inMember("ReplaceClaims", w.replaceClaims), inMember("Verify", w.verify),
		}
	default:
		return []steps.Step{
			inMember("ChooseSnapshots", w.chooseSnapshots), inMember("CreateVolumes", w.createVolumes),
			inMember("StopDatabase", w.stopDatabase), inMember("ReplaceClaims", w.replaceClaims),
			inMember("CopySecrets", w.copySecrets), inMember("StartDatabase", w.startDatabase),
		}
	}
}

// inMember returns a step that has no error of the hub's API server.
func inMember(name string, run func(context.Context) steps.Result) steps.Step {
	return steps.Step{Name: name, Run: func(ctx context.Context) (steps.Result, error) { return run(ctx), nil }}
}

// advance finds what the Restore works on, and runs its steps.
func (w *work) advance(ctx context.Context) (steps.Result, error) {
	if result, err := w.find(ctx); result.Stops() || err != nil {
		return result, err
	}
	return steps.Advance(ctx, w.steps())
}
