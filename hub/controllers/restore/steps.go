package restore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

// step is a part of the work on a Restore. What it has done is in the status, in the member
// or in the cloud, so that it can be repeated; once it is complete it does nothing. An
// error is one of the hub's API server.
type step struct {
	name string
	run  func(context.Context) (stepresult.Result, error)
}

// steps returns the steps of a Restore in their order, once its Backup is known.
func (w *work) steps() []step {
	switch verify := w.restore.Spec.Verify; {
	case w.isDump() && verify:
		return []step{{"FindTarget", inMember(w.lookAround)}, {"ChooseDump", w.chooseDump}, {"LoadDump", w.loadVerification}, {"Verify", inMember(w.prove)}}
	case w.isDump():
		return []step{{"FindTarget", inMember(w.lookAround)}, {"LoadDump", w.loadDump}}
	case verify:
		return []step{
			{"ChooseSnapshots", inMember(w.choose)}, {"CreateVolumes", inMember(w.makeVolumes)},
			{"ReplaceClaims", inMember(w.exchange)}, {"Verify", inMember(w.prove)},
		}
	default:
		return []step{
			{"ChooseSnapshots", inMember(w.choose)}, {"CreateVolumes", inMember(w.makeVolumes)},
			{"StopDatabase", inMember(w.stopDatabase)}, {"ReplaceClaims", inMember(w.exchange)},
			{"CopySecrets", inMember(w.carrySecrets)}, {"StartDatabase", inMember(w.startDatabase)},
		}
	}
}

// inMember returns a step that has no error of the hub's API server.
func inMember(run func(context.Context) stepresult.Result) func(context.Context) (stepresult.Result, error) {
	return func(ctx context.Context) (stepresult.Result, error) { return run(ctx), nil }
}

// advance runs the steps up to the first that is not complete.
func (w *work) advance(ctx context.Context) (stepresult.Result, error) {
	if v, err := w.find(ctx); v.Stops() || err != nil {
		return v, err
	}
	for _, s := range w.steps() {
		result, err := s.run(ctx)
		if err != nil {
			return stepresult.Result{}, err
		}
		if result.Stops() {
			log.FromContext(ctx).V(1).Info("Step is not complete", "step", s.name, "reason", result.Reason)
			return result, nil
		}
	}
	return stepresult.Result{}, nil
}
