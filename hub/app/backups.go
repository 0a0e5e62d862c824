package app

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// ReportBackups hands over what the status of an application says about its backups: the status has one writer. It
// returns the report before and whether there was one, and never blocks. After a restart the stored status stays
// until the scheduler reports again.
func (c *Controller) ReportBackups(app client.ObjectKey, next aggregate.BackupReport) (last aggregate.BackupReport, known bool) {
	before := c.state.ReplaceBackups(app, next)
	if before == nil || !equality.Semantic.DeepEqual(*before, next) {
		c.backups.Add(reconcile.Request{NamespacedName: app})
	}
	if before == nil {
		return aggregate.BackupReport{}, false
	}
	return *before, true
}
