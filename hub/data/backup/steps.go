package backup

import (
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// steps returns the steps of a Backup in their order, by its method.
func (w *work) steps() []steps.Step {
	if w.backup.Spec.Method == v1.BackupDump {
		return []steps.Step{
			{Name: "RecordSource", Run: w.recordSource}, {Name: "MakeDump", Run: w.makeDump}, {Name: "SendDump", Run: w.sendDump},
			{Name: "CheckDatabase", Run: w.checkDatabase},
		}
	}
	return []steps.Step{
		{Name: "RecordSource", Run: w.recordSource}, {Name: "FindVolumes", Run: w.findVolumes},
		{Name: "TakeSnapshots", Run: w.takeSnapshots}, {Name: "MakeCopies", Run: w.makeCopies},
		{Name: "CheckDatabase", Run: w.checkDatabase},
	}
}
