package backup

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

// newDumpAudit returns an audit of a Backup whose dump is in a bucket, and the prefix of its keys.
func newDumpAudit(t *testing.T) (*auditor, *auditedHub, *bucket.Store) {
	t.Helper()
	store := bucket.NewStore(testclock.NewFakeClock(now()))
	_, h := newAudit(auditedCloud{})
	w := newWork(h, store)
	w.sending()
	w.backup.Status.Phase, w.backup.Status.Dump.Object.State = v1.BackupCompleted, v1.DumpSent
	where, err := w.options.Accounts.Bucket(t.Context(), w.backup.Status.Account)
	if err != nil {
		t.Fatal(err)
	}
	w.backup.Status.Dump.Object.Location = where.Location
	w.backup.Status.Message = "The backup can be restored"
	w.set(v1.ConditionReady, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The backup can be restored"})
	w.set(v1.ConditionCopied, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The dump is in the bucket"})
	h.backup = *w.backup
	prefix := w.backup.Status.Dump.Object.Prefix
	store.Put(dumps.PartKey(prefix, 0), []byte("12345"))
	store.Put(dumps.ManifestKey(prefix), []byte("{}"))
	return &auditor{Reconciler: w.Reconciler}, h, store
}

// expectDumpLost checks what is written of a dump that the bucket does not have, and that its claim may have.
func (h *auditedHub) expectDumpLost(t *testing.T) {
	t.Helper()
	c := meta.FindStatusCondition(h.backup.Status.Conditions, v1.ConditionCopied)
	if h.backup.Status.Dump.Object.State != v1.DumpMissing || c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonDumpMissing || c.Message != dumpLost {
		t.Errorf("state %s, condition %+v", h.backup.Status.Dump.Object.State, c)
	}
	if h.backup.IsMissing() {
		t.Error("it is reported as lost on its claim")
	}
}

// TestAuditOfDumps checks that a dump is missing once the bucket says that it does not have all of it, and is found
// again.
func TestAuditOfDumps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(h *auditedHub, store *bucket.Store, prefix string)
		lost   bool
	}{
		"all is there": {func(*auditedHub, *bucket.Store, string) {}, false},
		"no manifest":  {func(_ *auditedHub, s *bucket.Store, p string) { s.Remove(dumps.ManifestKey(p)) }, true},
		"no part":      {func(_ *auditedHub, s *bucket.Store, p string) { s.Remove(dumps.PartKey(p, 0)) }, true},
		"another part": {func(_ *auditedHub, s *bucket.Store, p string) { s.Put(dumps.PartKey(p, 0), []byte("1")) }, true},
		"another bucket now": {func(h *auditedHub, s *bucket.Store, p string) {
			s.Remove(dumps.PartKey(p, 0))
			h.backup.Status.Dump.Object.Bucket = "former"
		}, false},
		"of another hub": {func(h *auditedHub, s *bucket.Store, p string) {
			h.backup.Status.Dump.Object.Prefix = "shopfleet/hub-2/a/b"
			s.Put(dumps.PartKey("shopfleet/hub-2/a/b", 0), []byte("12345"))
			s.Put(dumps.ManifestKey("shopfleet/hub-2/a/b"), []byte("{}"))
			s.Remove(dumps.PartKey(p, 0))
		}, false},
		"of no hub": {func(h *auditedHub, _ *bucket.Store, _ string) {
			h.backup.Status.Dump.Object.Prefix = "elsewhere/a/b"
		}, false},
		"no bucket any more": {func(h *auditedHub, _ *bucket.Store, _ string) {
			h.account.Name, h.backup.Status.Account = "bare", "bare"
		}, false},
		"a bucket that fails": {func(h *auditedHub, s *bucket.Store, p string) {
			s.Remove(dumps.PartKey(p, 0))
			h.account.Status.Conditions[1].Status = metav1.ConditionUnknown
		}, false},
		"in no known location": {func(h *auditedHub, s *bucket.Store, p string) {
			s.Remove(dumps.PartKey(p, 0))
			h.backup.Status.Dump.Object.Location = ""
		}, false},
		"of an unknown size": {func(h *auditedHub, s *bucket.Store, p string) {
			s.Remove(dumps.PartKey(p, 0))
			h.backup.Status.Dump.File = ""
		}, false},
		"not sent": {func(h *auditedHub, s *bucket.Store, p string) {
			s.Remove(dumps.PartKey(p, 0))
			h.backup.Status.Dump.Object.State = v1.DumpSending
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAudit(t, tt.change, tt.lost)
		})
	}
}

// checkAudit audits a dump after a change, and once the bucket has all of it again.
func checkAudit(t *testing.T, change func(h *auditedHub, store *bucket.Store, prefix string), wantLost bool) {
	t.Helper()
	a, h, store := newDumpAudit(t)
	prefix := h.backup.Status.Dump.Object.Prefix
	change(h, store, prefix)
	before := h.backup.Status.DeepCopy()
	a.pass(t)
	if !wantLost {
		h.unchanged(t, before)
		return
	}
	h.expectDumpLost(t)
	if len(a.options.Recorder.(*events.FakeRecorder).Events) != 1 {
		t.Error("no event reports it")
	}
	store.Put(dumps.PartKey(prefix, 0), []byte("12345"))
	store.Put(dumps.ManifestKey(prefix), []byte("{}"))
	a.pass(t)
	if diff := cmp.Diff(before, &h.backup.Status); diff != "" || h.writes != 2 {
		t.Errorf("found again after %d writes (-want +got):\n%s", h.writes, diff)
	}
}

// TestAuditOfDumpsKnowsNothing checks that a bucket that does not answer, or denies its list, loses no dump.
func TestAuditOfDumpsKnowsNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]bucket.Options{"denied": {BadCredentials: true}, "missing": {Missing: true}} {
		a, h, _ := newDumpAudit(t)
		a.options.Accounts = accounts.New(accounts.Options{Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) {
			return bucket.Connect(bucket.NewStore(testclock.NewFakeClock(now())), options), nil
		}}})
		a.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"}}, nil)
		a.pass(t)
		if h.writes > 0 {
			t.Errorf("%s: %+v", name, h.backup.Status.Dump.Object)
		}
	}
}

// TestAuditOfAnotherHub checks that the dump of a hub that was taken over is missing once its bucket does not have it.
func TestAuditOfAnotherHub(t *testing.T) {
	t.Parallel()
	a, h, _ := newDumpAudit(t)
	h.backup.Status.HubUID, h.backup.Status.Dump.Object.Prefix = "", "shopfleet/hub-2/a/b"
	a.pass(t)
	h.expectDumpLost(t)
	if h.backup.Status.HubUID != "hub-2" {
		t.Errorf("of the hub %q", h.backup.Status.HubUID)
	}
}

// TestADumpIsNowhere checks that a dump that its bucket does not have, and that a later one removed from its claim, is
// no good backup until the bucket has it again.
func TestADumpIsNowhere(t *testing.T) {
	t.Parallel()
	a, h, store := newDumpAudit(t)
	prefix := h.backup.Status.Dump.Object.Prefix
	later := h.backup.DeepCopy()
	later.Name, later.UID, later.Status.Phase = "later", "b-2", v1.BackupFailed
	later.Status.Dump.Object, later.Status.Dump.RemovedUpToTime = nil, &metav1.Time{Time: now()}
	h.others = []v1.Backup{*later}
	before := h.backup.Status.DeepCopy()
	a.pass(t)
	h.unchanged(t, before)
	store.Remove(dumps.PartKey(prefix, 0))
	for range 2 {
		a.pass(t)
		c := meta.FindStatusCondition(h.backup.Status.Conditions, v1.ConditionReady)
		if !h.backup.IsMissing() || c.Reason != v1.ReasonDumpMissing || h.backup.Status.Message != dumpGone || h.writes != 1 {
			t.Errorf("%d writes, condition %+v", h.writes, c)
		}
	}
	store.Put(dumps.PartKey(prefix, 0), []byte("12345"))
	a.pass(t)
	if diff := cmp.Diff(before, &h.backup.Status); diff != "" {
		t.Errorf("found again (-want +got):\n%s", diff)
	}
}
