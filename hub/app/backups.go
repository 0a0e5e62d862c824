package app

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// backupReports are the last reports of the backup scheduler about each application,
// which this controller writes: the status of an application has one writer. They are
// kept in memory. After a restart the stored status stays until the scheduler reports
// again. Safe for concurrent use.
type backupReports struct {
	changed controller.Queue

	mu    sync.Mutex
	known map[types.NamespacedName]aggregate.BackupReport
}

func newBackupReports() *backupReports {
	return &backupReports{known: map[types.NamespacedName]aggregate.BackupReport{}}
}

// ReportBackups hands over what the status of an application says about its backups. It
// returns the report before and whether there was one, and never blocks.
func (c *Controller) ReportBackups(app client.ObjectKey, next aggregate.BackupReport) (last aggregate.BackupReport, known bool) {
	last, known = c.backups.replace(app, next)
	if !known || !equality.Semantic.DeepEqual(last, next) {
		c.backups.changed.Add(reconcile.Request{NamespacedName: app})
	}
	return last, known
}

func (b *backupReports) replace(app types.NamespacedName, next aggregate.BackupReport) (last aggregate.BackupReport, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known = b.known[app]
	b.known[app] = next
	return last, known
}

// about returns the last report about an application, or nil. It is not to be changed.
func (b *backupReports) about(app types.NamespacedName, uid types.UID) *aggregate.BackupReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found, known := b.known[app]; known && found.App == uid {
		return &found
	}
	return nil
}

func (b *backupReports) forget(app types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, app)
}
