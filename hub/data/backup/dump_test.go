package backup

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func now() time.Time { return time.Date(2026, 3, 2, 2, 5, 0, 0, time.UTC) }

// newWork returns a pass over a Backup whose dump is complete, of a member that has an account
// with a bucket and is not connected.
func newWork(c client.Client, store *bucket.Store) *work {
	spec := v1.CloudAccountSpec{Provider: v1.ProviderAWS, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"}}
	all := accounts.New(accounts.Options{Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) {
		return bucket.Connect(store, bucket.Options{}), nil
	}}})
	all.Set("prod", spec, nil)
	spec.ObjectStorage = nil
	all.Set("bare", spec, nil)
	all.Set("unbuilt", v1.CloudAccountSpec{Provider: v1.ProviderGCP, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"}}, nil)
	return &work{
		Reconciler: &Reconciler{
			client: c,
			options: Options{
				HubUID: "hub-1", Accounts: all, SpokeImage: "spoke:1", Recorder: events.NewFakeRecorder(10), Clock: testclock.NewFakeClock(now()),
				Member: func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
					return nil, apierror.ErrNotConnected
				},
			},
		},
		backup: &v1.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-eu-1-20260302-0200", UID: "b-1"},
			Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "of-prod"}, Method: v1.BackupDump},
			Status: v1.BackupStatus{
				HubUID: "hub-1", AppUID: "app-1", StartTime: &metav1.Time{Time: now()}, SnapshotTime: &metav1.Time{Time: now()}, Phase: v1.BackupInProgress,
				Dump: &v1.DumpFile{Claim: "c", Job: "j", File: "backup-20260302T020000Z.dump", Bytes: 5, SHA256: "aa"},
			},
		},
		now: now(),
	}
}

// sending sets a status in which the dump is being sent.
func (w *work) sending() {
	w.backup.Status.Account = "prod"
	w.backup.Status.Dump.Object = &v1.DumpObject{
		Bucket: "dumps", Prefix: "shopfleet/hub-1/app-1/shop-eu-1-20260302-0200-0123", State: v1.DumpSending, ExpirationTime: &metav1.Time{Time: now().Add(time.Hour)},
	}
}

// whetherADumpIsSent checks whether a dump is sent, depending on the image, the account and its bucket.
func (c *crashes) whetherADumpIsSent(t *testing.T) {
	for _, account := range []string{"prod", "bare", "missing", "unbuilt"} {
		c.MustCreate(t, apitest.MemberCluster("of-"+account).With(func(m *v1.MemberCluster) {
			m.Spec.CloudAccountRef = &v1.ObjectReference{Name: account}
		}).Obj())
	}
	c.MustCreate(t, apitest.MemberCluster("bare").Obj())
	in := func(member string) func(*work) {
		return func(w *work) { w.backup.Spec.ClusterRef.Name = member }
	}
	const complete = "The backup can be restored"
	for name, tt := range map[string]struct {
		change  func(*work)
		phase   v1.BackupPhase
		reason  string
		message string
	}{
		"to a bucket":        {in("of-prod"), v1.BackupFinalizing, v1.ReasonClusterUnreachable, "of-prod is not connected"},
		"without an account": {in("bare"), v1.BackupCompleted, v1.ReasonCompleted, complete},
		"without a bucket":   {in("of-bare"), v1.BackupCompleted, v1.ReasonCompleted, complete},
		"without an image": {func(w *work) { w.options.SpokeImage = "" }, v1.BackupPartiallyCompleted, v1.ReasonPartiallyCompleted,
			"The backup can be restored where it is: the dump is not in the bucket: the hub has no --spoke-image to send it with"},
		"too large": {func(w *work) { w.backup.Status.Dump.Bytes = 201 << 30 }, v1.BackupPartiallyCompleted, v1.ReasonPartiallyCompleted,
			"The backup can be restored where it is: the dump is not in the bucket: more than 200 GiB are not sent"},
		"an account that does not exist": {in("of-missing"), v1.BackupFinalizing, v1.ReasonAccountNotFound, `there is no CloudAccount "missing"`},
		"an account that is wrong": {in("of-unbuilt"), v1.BackupFinalizing, v1.ReasonAccountNotReady,
			"connecting to the bucket: this hub was built without the buckets of the provider gcp"},
		"a member that is gone": {in("gone"), v1.BackupPartiallyCompleted, v1.ReasonPartiallyCompleted,
			`The backup can be restored where it is: the dump is not in the bucket: there is no MemberCluster "gone" any more`},
		"the account has changed since": {func(w *work) { w.sending(); in("bare")(w) },
			v1.BackupFinalizing, v1.ReasonClusterUnreachable, "bare is not connected"},
		"the bucket is gone since": {func(w *work) { w.sending(); w.backup.Status.Account = "bare" },
			v1.BackupFinalizing, v1.ReasonAccountNotReady, `the CloudAccount "bare" has no bucket any more`},
		"for too long": {func(w *work) { w.sending(); w.now = now().Add(readyTimeout + time.Second) }, v1.BackupPartiallyCompleted, v1.ReasonPartiallyCompleted,
			"The backup can be restored where it is: the dump is not in the bucket: not complete within 48h0m0s: of-prod is not connected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(c, bucket.NewStore(testclock.NewFakeClock(now())))
			tt.change(w)
			result, err := steps.Advance(t.Context(), w.steps(), &w.backup.Status.Steps, w.now)
			if err != nil {
				t.Fatal(err)
			}
			w.conclude(result)
			ready := readyOf(w.backup)
			want := []any{tt.phase, tt.reason, tt.message}
			if diff := cmp.Diff(want, []any{w.backup.Status.Phase, ready.Reason, ready.Message}); diff != "" {
				t.Errorf("phase, reason and message (-want +got):\n%s", diff)
			}
			if tt.phase == v1.BackupFinalizing && result.Wait <= 0 {
				t.Error("it is never looked at again")
			}
		})
	}
}

// TestHowLongADumpMayTake checks the limit until there is a dump, and the one until it is in its place.
func TestHowLongADumpMayTake(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		dump  *v1.DumpFile
		after time.Duration
		want  string
	}{
		"not begun":      {nil, snapshotTimeout, v1.ReasonClusterUnreachable},
		"never begun":    {nil, snapshotTimeout + time.Second, v1.ReasonDumpFailed},
		"under way":      {&v1.DumpFile{Claim: "c"}, readyTimeout, v1.ReasonClusterUnreachable},
		"without an end": {&v1.DumpFile{Claim: "c"}, readyTimeout + time.Second, v1.ReasonDumpFailed},
	} {
		w := newWork(nil, nil)
		w.backup.Status.Dump, w.backup.Status.SnapshotTime, w.now = tt.dump, nil, now().Add(tt.after)
		if result, err := steps.Advance(t.Context(), w.steps(), &w.backup.Status.Steps, w.now); err != nil || result.Reason != tt.want {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// TestWhatOfADumpIsDeleted checks what of a dump is deleted with its Backup.
func TestWhatOfADumpIsDeleted(t *testing.T) {
	t.Parallel()
	sent := func(w *work) {
		w.sending()
		w.backup.Status.Dump.Object.State, w.backup.Status.Dump.Object.ExpirationTime = v1.DumpSent, nil
	}
	for name, tt := range map[string]struct {
		change func(*work)
		want   steps.Result
		left   int
	}{
		"in no bucket": {func(*work) {}, steps.Result{}, 1},
		"sent":         {sent, steps.Result{}, 0},
		"under way": {(*work).sending, steps.RetryAfter(steps.Member, v1.ReasonDeleting,
			"waiting until nothing more can be sent to the bucket dumps"), 0},
		"under way, an hour later":    {func(w *work) { w.sending(); w.now = now().Add(time.Hour) }, steps.Result{}, 0},
		"of another hub":              {func(w *work) { sent(w); w.backup.Status.HubUID = "hub-2" }, steps.Result{}, 1},
		"without a hub, and not ours": {func(w *work) { sent(w); w.backup.Status.HubUID, w.options.HubUID = "", "hub-2" }, steps.Result{}, 1},
		"of a former hub":             {func(w *work) { sent(w); w.options.HubUID = "hub-2" }, steps.Result{}, 0},
		"of another application":      {func(w *work) { sent(w); w.backup.Status.AppUID = "app-2" }, steps.Result{}, 1},
		"the account is gone": {func(w *work) { sent(w); w.backup.Status.Account = "missing" },
			steps.RetryAfter(steps.Refused, v1.ReasonAccountNotFound, `there is no CloudAccount "missing"`), 1},
		"the bucket is gone": {func(w *work) { sent(w); w.backup.Status.Account = "bare" }, steps.Result{
			Reason: v1.ReasonCloudRefused, Message: `connecting to the bucket: CloudAccount "bare" has no spec.objectStorage`, Fatal: true, Wait: steps.Refused,
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := bucket.NewStore(testclock.NewFakeClock(now()))
			store.Put("shopfleet/hub-1/app-1/shop-eu-1-20260302-0200-0123/part-00000", []byte("12345"))
			w := newWork(nil, store)
			tt.change(w)
			if diff := cmp.Diff(tt.want, w.deleteDump(t.Context())); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if left := len(store.Keys()); left != tt.left {
				t.Errorf("%d objects are left, want %d", left, tt.left)
			}
		})
	}
}
