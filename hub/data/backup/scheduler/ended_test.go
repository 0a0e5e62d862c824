package scheduler

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// TestBackupsOutliveTheApplication checks that an application of the same name leaves of one that was deleted the
// newest backup and the newest verified one, however old they are and whether it has newer ones.
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
	if deleted := decide(in).Delete; len(deleted) != 1 || deleted[0].Name != "shop-eu-1-20260301-0200" {
		t.Errorf("deleted are %+v", deleted)
	}
}

// ended returns an application with four backups of March, the first of which is verified, and which are kept as long as
// it is backed up.
func ended() input {
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(3)), KeepDays: new(int32(30))}
	in.app.Status.ObservedGeneration, in.app.Status.ClusterCount = 1, 1
	for _, day := range []string{"2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"} {
		b := backup(day+"T02:00:00Z", v1.BackupCompleted)
		b.Status.AppUID, b.Status.Retention = "u-1", in.app.Spec.Database.Backup.Retention.DeepCopy()
		in.backups = append(in.backups, b)
	}
	in.backups[0].Status.LastVerifiedTime = &metav1.Time{Time: at("2026-03-02T04:00:00Z")}
	return in
}

// endCase is something that ends, and what retention deletes of it then.
type endCase struct {
	change []func(*input)
	want   []string
}

const (
	first  = "shop-eu-1-20260301-0200"
	second = "shop-eu-1-20260302-0200"
	third  = "shop-eu-1-20260303-0200"
	fourth = "shop-eu-1-20260304-0200"
)

func appGone(in *input)         { in.app = nil }
func backupsDisabled(in *input) { in.app.Spec.Database.Backup.Enabled = false }
func expiring(in *input) {
	for i := range in.backups {
		in.backups[i].Annotations = map[string]string{v1.KeepNewestAnnotation: "false"}
	}
}
func retentionUnknown(in *input) {
	for i := range in.backups {
		in.backups[i].Status.Retention = nil
	}
}

// ends returns what may end.
func ends() map[string]endCase {
	return map[string]endCase{
		"it goes on":    {},
		"gone":          {[]func(*input){appGone}, []string{second, third}},
		"created again": {[]func(*input){func(in *input) { in.app.UID = "u-2" }}, []string{second, third}},
		"deleted":       {[]func(*input){func(in *input) { in.app.DeletionTimestamp = &metav1.Time{Time: in.now} }}, []string{second, third}},
		"deleted and protected": {[]func(*input){func(in *input) {
			in.app.DeletionTimestamp = &metav1.Time{Time: in.now}
			in.app.Annotations = map[string]string{v1.DeletionProtectionAnnotation: "true"}
		}}, nil},
		"disabled":         {[]func(*input){backupsDisabled}, []string{second, third}},
		"no database":      {[]func(*input){func(in *input) { in.app.Spec.Database = nil }}, []string{second, third}},
		"left the cluster": {[]func(*input){func(in *input) { in.app.Status.Clusters[0].Name = "us-1" }}, []string{second, third}},
		"leaves it":        {[]func(*input){func(in *input) { in.app.Status.Clusters[0].Phase = v1.PhaseDeleting }}, []string{second, third}},
		"no member":        {[]func(*input){func(in *input) { delete(in.members, "eu-1") }}, nil},
		"the status is lost": {[]func(*input){func(in *input) {
			in.app.Status = v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: "us-1"}}}
		}}, nil},
	}
}

// endings returns what is known of something that has ended.
func endings() map[string]endCase {
	return map[string]endCase{
		"the retention is not known":        {[]func(*input){retentionUnknown, appGone}, nil},
		"the retention of one is known":     {[]func(*input){func(in *input) { in.backups[3].Status.Retention = nil }, appGone}, []string{second, third}},
		"another has the name":              {[]func(*input){retentionUnknown, func(in *input) { in.app.UID = "u-2" }}, []string{second, third}},
		"safe mode":                         {[]func(*input){appGone, func(in *input) { in.safeMode = true }}, nil},
		"the member is paused":              {[]func(*input){appGone, func(in *input) { in.members["eu-1"].Spec.Paused = true }}, nil},
		"the member is gone":                {[]func(*input){appGone, func(in *input) { in.members = nil }}, []string{second, third}},
		"a cluster has a newer application": {[]func(*input){backupsDisabled, func(in *input) { in.app.Status.Clusters[0].UnknownOrigin = "u/9" }}, nil},
		"the cluster is not compared":       {[]func(*input){backupsDisabled, func(in *input) { in.compared["eu-1"] = false }}, nil},
		"the database is lost":              {[]func(*input){backupsDisabled, func(in *input) { in.app.Status.Clusters[0].DatabaseLost = true }}, nil},
		"one is restored": {[]func(*input){appGone, func(in *input) {
			in.restores = []v1.Restore{{Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: second}}}}
		}}, []string{third}},
		"one is rediscovered":   {[]func(*input){appGone, func(in *input) { in.backups[2].Annotations = map[string]string{v1.RediscoveredAnnotation: "prod"} }}, []string{second}},
		"one is of another hub": {[]func(*input){appGone, func(in *input) { in.backups[2].Status.HubUID = "hub-2" }}, []string{second}},
		"one is of this hub":    {[]func(*input){appGone, func(in *input) { in.hub, in.backups[2].Status.HubUID = "hub-1", "hub-1" }}, []string{second, third}},
		"the newest is lost": {[]func(*input){appGone, func(in *input) {
			in.backups[3].Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse}}
		}}, []string{second}},
		"none is to be kept":                       {[]func(*input){appGone, expiring}, []string{first, second, third, fourth}},
		"none is to be kept, but it is backed up":  {[]func(*input){expiring}, nil},
		"none is to be kept, and they are young":   {[]func(*input){appGone, expiring, func(in *input) { in.now = at("2026-03-30T03:00:00Z") }}, nil},
		"one is of another method":                 {[]func(*input){appGone, func(in *input) { in.backups[2].Spec.Method = v1.BackupDump }}, []string{second}},
		"the newest is in one place":               {[]func(*input){appGone, func(in *input) { in.backups[3].Status.Snapshots[0].Copies = nil }}, []string{second}},
		"the last one is young, and keepLast kept": {[]func(*input){appGone, func(in *input) { in.now = at("2026-04-02T03:00:00Z") }}, nil},
		"the clock is not known": {[]func(*input){appGone, func(in *input) {
			for i := range in.backups {
				in.backups[i].Status.Account = "prod"
			}
		}}, nil},
	}
}

// TestRetentionGoesOn checks of what ended that only those are deleted of which a newer good one is left, and
// not while something may be wrong.
func TestRetentionGoesOn(t *testing.T) {
	t.Parallel()
	cases := ends()
	maps.Copy(cases, endings())
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := ended()
			for _, change := range tt.change {
				change(&in)
			}
			decision := Decision{}
			in.pruneEnded(&decision)
			var deleted []string
			for _, d := range decision.Delete {
				deleted = append(deleted, d.Name)
			}
			if diff := cmp.Diff(tt.want, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAfterTheEnd checks that the Backups of an application that ends, whose backups are disabled, or which is gone are
// deleted with their data, and that nothing is reported about them.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.EcommerceApp){
		"deleted": func(a *v1.EcommerceApp) {
			a.DeletionTimestamp, a.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{v1.HubFinalizer}
		},
		"disabled":    func(a *v1.EcommerceApp) { a.Spec.Database.Backup.Enabled = false },
		"no database": func(a *v1.EcommerceApp) { a.Spec.Database = nil },
		"gone":        func(a *v1.EcommerceApp) { a.Name = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := ended()
			change(in.app)
			scheme := runtime.NewScheme()
			if err := v1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			objects := []client.Object{in.app, in.members["eu-1"]}
			for i := range in.backups {
				objects = append(objects, &in.backups[i])
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&v1.Backup{}, backupsByApp, func(o client.Object) []string {
				return []string{o.(*v1.Backup).Spec.AppRef.Name}
			}).Build()
			checkAfterEnd(t, hub, map[bool]int{true: 0, false: 1}[name == "gone"], first, fourth)
		})
	}
}

// TestExpiredIsRecorded checks that what retention deletes says so in its status, where its data has a lock, and that what is to be
// kept after all does not.
func TestExpiredIsRecorded(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	in := ended()
	var objects []client.Object
	for i := range in.backups {
		b := &in.backups[i]
		b.Finalizers, b.Status.DeleteLockDays = []string{v1.BackupFinalizer}, 7
		objects = append(objects, b)
	}
	in.backups[2].Status.DeleteLockDays = 0
	in.backups[3].Annotations, in.backups[3].Status.Expired = map[string]string{v1.PrunedAnnotation: "true"}, true
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1.Backup{}).WithIndex(&v1.Backup{}, backupsByApp, func(o client.Object) []string {
		return []string{o.(*v1.Backup).Spec.AppRef.Name}
	}).Build()
	checkAfterEnd(t, hub, 0, first, second, third, fourth)
	for i, want := range []struct{ deleted, expired bool }{{}, {true, true}, {true, false}, {}} {
		b := &v1.Backup{}
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(&in.backups[i]), b); err != nil {
			t.Fatal(err)
		}
		if deleted := !b.DeletionTimestamp.IsZero(); deleted != want.deleted || b.Status.Expired != want.expired {
			t.Errorf("%s: deleted %t, expired %t, want %+v", b.Name, deleted, b.Status.Expired, want)
		}
	}
}

// checkAfterEnd runs one pass and checks which Backups are left, and what is reported.
func checkAfterEnd(t *testing.T, hub client.Client, reports int, stay ...string) {
	t.Helper()
	clock := testclock.NewFakeClock(at("2026-06-01T03:00:00Z"))
	metrics, err := NewMetrics(prometheus.NewRegistry(), clock)
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	r := &Reconciler{client: hub, started: sync.OnceValue(clock.Now), options: Options{
		Metrics: metrics, Clock: clock,
		Skew: func(string) (time.Duration, bool) { return 0, true },
		Compared: func(context.Context, *v1.EcommerceApp, string) (bool, v1.CopiedServer, error) {
			return true, v1.CopiedServer{}, nil
		},
		SetBackups: func(_ client.ObjectKey, next aggregate.BackupSummary) (aggregate.BackupSummary, bool) {
			if reported++; next.Condition != nil {
				t.Errorf("set is %+v", next)
			}
			return aggregate.BackupSummary{}, false
		},
	}}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shops", Name: "shop"}})
	if err != nil || reported != reports || result.RequeueAfter != maxInterval {
		t.Errorf("%d reports, again after %s, %v", reported, result.RequeueAfter, err)
	}
	list := &v1.BackupList{}
	if err := hub.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var left []string
	for i := range list.Items {
		left = append(left, list.Items[i].Name)
	}
	slices.Sort(left)
	if diff := cmp.Diff(stay, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
