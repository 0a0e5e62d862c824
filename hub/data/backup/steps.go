package backup

import (
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// steps returns the steps of a Backup in their order, by its method.
func (w *work) steps() []steps.Step {
	if w.backup.Spec.Method == v1.BackupDump {
		return []steps.Step{
			{Name: "Begin", Run: w.recordSource}, {Name: "Dump", Run: w.makeDump}, {Name: "Send", Run: w.sendDump},
			{Name: "Seal", Run: w.checkDatabase},
		}
	}
	return []steps.Step{
		{Name: "Begin", Run: steps.Then(w.recordSource, w.findVolumes)}, {Name: "Snapshot", Run: w.takeSnapshots},
		{Name: "Copy", Run: w.makeCopies}, {Name: "Seal", Run: w.checkDatabase},
	}
}
