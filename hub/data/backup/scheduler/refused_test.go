package scheduler

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// TestRefused checks that a Backup that cannot be created is reported, and the age of the last one too.
func TestRefused(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "backups"}, "b", nil)
	for name, tt := range map[string]struct {
		err    error
		before metav1.Condition
		reason string
	}{
		"denied":              {denied, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent, Message: "recent"}, v1.ReasonForbidden},
		"denied, and too old": {denied, metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonBackupTooOld, Message: "too old"}, v1.ReasonBackupTooOld},
		"for a moment":        {apierrors.NewInternalError(denied), metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent, Message: "recent"}, v1.ReasonBackupsRecent},
	} {
		d := Decision{Condition: tt.before}
		d.refused(apierror.Decide(tt.err))
		is := d.Condition.Status == metav1.ConditionTrue
		if d.Condition.Reason != tt.reason || is != (tt.reason == v1.ReasonBackupsRecent) || !strings.Contains(d.Condition.Message, tt.before.Message) {
			t.Errorf("%s: %s, %s: %s", name, d.Condition.Status, d.Condition.Reason, d.Condition.Message)
		}
	}
}

// duePasses records the delays of requests that are added.
type duePasses struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	due []time.Duration
}

func (d *duePasses) AddAfter(_ reconcile.Request, delay time.Duration) { d.due = append(d.due, delay) }

// TestRefusedDelaysNoBackup checks that an old Backup that cannot be deleted, which is tried again later and later, does not
// delay the next Backup.
func TestRefusedDelaysNoBackup(t *testing.T) {
	t.Parallel()
	const rest = 2 * time.Minute
	in := ended()
	in.app.Spec.Database.Backup.Retention.KeepLast = new(int32(1))
	in.backups[3] = backup("2026-05-31T02:00:00Z", v1.BackupCompleted)
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{in.app, in.members["eu-1"]}
	for i := range in.backups {
		objects = append(objects, &in.backups[i])
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "backups"}, first, nil)
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&v1.Backup{}, backupsByApp, func(o client.Object) []string {
		return []string{o.(*v1.Backup).Spec.AppRef.Name}
	}).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return denied },
	}).Build()
	in.now = at("2026-06-01T02:00:00Z").Add(in.spread("eu-1", 24*time.Hour) - rest)
	clock, passes := testclock.NewFakeClock(in.now), &duePasses{}
	metrics, err := NewMetrics(prometheus.NewRegistry(), clock)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{client: hub, started: sync.OnceValue(clock.Now), options: Options{
		Metrics: metrics, Clock: clock, Recorder: events.NewFakeRecorder(10),
		Skew: func(string) (time.Duration, bool) { return 0, true },
		Compared: func(context.Context, *v1.EcommerceApp, string) (bool, v1.CopiedServer, error) {
			return true, v1.CopiedServer{}, nil
		},
		SetBackups: func(client.ObjectKey, aggregate.BackupSummary) (aggregate.BackupSummary, bool) {
			return aggregate.BackupSummary{}, false
		},
	}}
	if err := r.queue.Source().Start(t.Context(), passes); err != nil {
		t.Fatal(err)
	}
	result, err := r.Reconcile(t.Context(), runtimecontroller.RequestFor(in.app))
	if !apierrors.IsForbidden(err) || result.RequeueAfter != 0 || !slices.Equal(passes.due, []time.Duration{rest}) {
		t.Errorf("error %v, again after %s; passes are due after %v, want %s", err, result.RequeueAfter, passes.due, rest)
	}
}
