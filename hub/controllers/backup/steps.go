package backup

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

// step is a part of the work on a Backup. What it has done is in the status or in the
// cloud, so that it can be repeated; once it is complete it does nothing. An error is one
// of the hub's API server.
type step struct {
	name string
	run  func(context.Context) (stepresult.Result, error)
}

// steps returns the steps of a Backup in their order, by its method.
func (w *work) steps() []step {
	if w.backup.Spec.Method == v1.BackupDump {
		return []step{{"Begin", w.begin}, {"MakeDump", w.makeDump}, {"SendDump", w.sendDump}}
	}
	return []step{{"Begin", w.begin}, {"FindVolumes", w.findVolumes}, {"TakeSnapshots", w.takeSnapshots}, {"Copy", w.copy}}
}

// advance runs the steps up to the first that is not complete.
func (w *work) advance(ctx context.Context) (stepresult.Result, error) {
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
