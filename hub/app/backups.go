package app

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// SetBackups hands over what the status of an application says about its backups: the status has one writer. It
// returns the summary before and whether there was one, and never blocks. After a restart the stored status stays
// until the scheduler has decided again.
func (c *Controller) SetBackups(app client.ObjectKey, next aggregate.BackupSummary) (last aggregate.BackupSummary, known bool) {
	before := c.state.ReplaceBackups(app, next)
	if before == nil || !equality.Semantic.DeepEqual(*before, next) {
		c.queue.Add(reconcile.Request{NamespacedName: app})
	}
	if before == nil {
		return aggregate.BackupSummary{}, false
	}
	return *before, true
}
