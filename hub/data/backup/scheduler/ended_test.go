package scheduler

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// TestBackupsOutliveTheApplication checks that an application of the same name prunes none of the Backups of one that
// was deleted, however old they are and whether it has newer ones.
func TestBackupsOutliveTheApplication(t *testing.T) {
	t.Parallel()
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))}
	for _, scheduledTime := range []string{"2026-03-01T02:00:00Z", "2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z", "2026-06-01T02:00:00Z"} {
		in.backups = append(in.backups, backup(scheduledTime, v1.BackupCompleted))
	}
	if deleted := decide(in).Delete; len(deleted) != 3 {
		t.Fatalf("%d of its own are deleted: the test shows nothing", len(deleted))
	}
	for i := range in.backups[:3] {
		in.backups[i].Status.AppUID = "deleted"
	}
	in.backups[1].Status.LastVerifiedTime = &metav1.Time{Time: at("2026-03-02T04:00:00Z")}
	if deleted := decide(in).Delete; len(deleted) > 0 {
		t.Errorf("deleted are %+v", deleted)
	}
}

// appAlone has an application. It has nothing else, and takes no write.
type appAlone struct {
	client.Client

	app *v1.EcommerceApp
}

func (a appAlone) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	a.app.DeepCopyInto(o.(*v1.EcommerceApp))
	return nil
}

// TestNothingIsPrunedAtTheEnd checks that no Backup is read, let alone deleted, for an application that ends or whose
// backups are disabled.
func TestNothingIsPrunedAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.EcommerceApp){
		"deleted":     func(a *v1.EcommerceApp) { a.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"disabled":    func(a *v1.EcommerceApp) { a.Spec.Database.Backup.Enabled = false },
		"no database": func(a *v1.EcommerceApp) { a.Spec.Database = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, clock := situation("2026-06-01T03:00:00Z").app, testclock.NewFakeClock(at("2026-06-01T03:00:00Z"))
			change(app)
			metrics, err := NewMetrics(prometheus.NewRegistry(), clock)
			if err != nil {
				t.Fatal(err)
			}
			reported := 0
			r := &Reconciler{client: appAlone{app: app}, started: sync.OnceValue(clock.Now), options: Options{
				Metrics: metrics, Clock: clock,
				SetBackups: func(_ client.ObjectKey, next aggregate.BackupSummary) (aggregate.BackupSummary, bool) {
					if reported++; next.Condition != nil {
						t.Errorf("set is %+v", next)
					}
					return aggregate.BackupSummary{}, false
				},
			}}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)}); err != nil || reported != 1 {
				t.Errorf("%d reports, %v", reported, err)
			}
		})
	}
}
