package backup

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// emptyHub is a hub without objects that accepts each write of a status.
type emptyHub struct{ client.Client }

func (emptyHub) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (emptyHub) Status() client.SubResourceWriter { return acceptingWriter{} }

type acceptingWriter struct{ client.SubResourceWriter }

func (acceptingWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// regionalCopies answers requests for copies in one region. Deletions succeed.
type regionalCopies struct {
	cloud.Snapshots
	region string
	state  cloud.State
	err    error
}

func (c regionalCopies) EnsureCopy(context.Context, cloud.CopySpec) (cloud.Snapshot, error) {
	if c.err != nil {
		return cloud.Snapshot{}, c.err
	}
	return cloud.Snapshot{Ref: cloud.SnapshotRef{Region: c.region, ID: "snap-" + c.region}, State: c.state, Message: "internal error"}, nil
}

func (regionalCopies) DeleteSnapshot(context.Context, cloud.SnapshotRef, cloud.Owner) error {
	return nil
}

// newCopying returns a pass over a Backup whose snapshot is ready and should be copied to us-1 and us-2.
// us-1 gives the answer, and us-2 copies.
func newCopying(answer regionalCopies) *work {
	answer.region = "us-1"
	return newCopyingFrom(answer)
}

// newCopyingFrom returns the same, where us-1 has the snapshots of a provider.
func newCopyingFrom(provider cloud.Snapshots) *work {
	w := newWork(emptyHub{}, nil)
	w.options.Accounts = accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
		if c.Region == "us-1" {
			return cloud.Session{Snapshots: provider}, nil
		}
		return cloud.Session{Snapshots: regionalCopies{region: c.Region, state: cloud.StateReady}}, nil
	}}})
	w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, Regions: []string{"eu-1", "us-1", "us-2"}}, nil)
	w.backup.Spec.Method, w.backup.Spec.CopyToRegions = v1.BackupSnapshot, []string{"us-1", "us-2", "eu-1"}
	w.backup.Status.Account, w.backup.Status.Provider, w.backup.Status.Dump = "prod", v1.ProviderAWS, nil
	w.backup.Status.Snapshots = []v1.VolumeSnapshot{{Claim: "c", CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap-1", State: string(cloud.StateReady)}}}
	w.stored = w.backup.DeepCopy()
	return w
}

// makeCopiesAfter makes the pass over the copies that follows after a time.
func makeCopiesAfter(t *testing.T, w *work, d time.Duration) {
	t.Helper()
	w.now = w.now.Add(d)
	w.options.Clock = testclock.NewFakeClock(w.now)
	result, err := w.makeCopies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.conclude(result)
}

// TestACopyFailsAlone checks that a failed copy fails neither the snapshot nor the other copies.
func TestACopyFailsAlone(t *testing.T) {
	t.Parallel()
	denied := regionalCopies{err: &cloud.Error{Class: cloud.ClassDenied, Code: "UnauthorizedOperation"}}
	const late = readyTimeout + time.Minute
	for name, tt := range map[string]struct {
		answer        regionalCopies
		change        func(*work)
		after         time.Duration
		phase         v1.BackupPhase
		reason, ready string
		copied        string
	}{
		"made": {answer: regionalCopies{state: cloud.StateReady}, phase: v1.BackupCompleted, reason: v1.ReasonCompleted, ready: "The backup can be restored",
			copied: "All copies are made"},
		"denied": {answer: denied, phase: v1.BackupFinalizing, reason: v1.ReasonCloudRefused,
			ready: "creating the snapshot: the provider denies permission (UnauthorizedOperation)", copied: "Not all copies are made"},
		"denied for too long": {answer: denied, after: late, phase: v1.BackupPartiallyCompleted, reason: v1.ReasonPartiallyCompleted,
			ready: "The backup can be restored where it is: the copy in us-1 failed: not complete within 48h0m0s: creating the snapshot: " +
				"the provider denies permission (UnauthorizedOperation)",
			copied: "the copy in us-1 failed: not complete within 48h0m0s: creating the snapshot: the provider denies permission (UnauthorizedOperation)"},
		"given up by the provider": {answer: regionalCopies{state: cloud.StateFailed}, phase: v1.BackupPartiallyCompleted, reason: v1.ReasonPartiallyCompleted,
			ready:  "The backup can be restored where it is: the copy in us-1 failed: the provider gave up on the snapshot in us-1: internal error",
			copied: "the copy in us-1 failed: the provider gave up on the snapshot in us-1: internal error"},
		"a region that is not allowed": {answer: regionalCopies{state: cloud.StateReady}, change: func(w *work) {
			w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, Regions: []string{"eu-1", "us-2"}}, nil)
		}, phase: v1.BackupPartiallyCompleted, reason: v1.ReasonPartiallyCompleted,
			ready:  `The backup can be restored where it is: the copy in us-1 failed: region "us-1" is not in spec.regions of CloudAccount "prod"`,
			copied: `the copy in us-1 failed: region "us-1" is not in spec.regions of CloudAccount "prod"`},
		"under way": {answer: regionalCopies{state: cloud.StateCreating}, phase: v1.BackupFinalizing, reason: v1.ReasonCopying,
			ready: "the snapshots are ready; copying to other regions", copied: "Not all copies are made"},
		"under way for too long": {answer: regionalCopies{state: cloud.StateCreating}, after: late, phase: v1.BackupPartiallyCompleted, reason: v1.ReasonPartiallyCompleted,
			ready: "The backup can be restored where it is: the copy in us-1 failed: not complete within 48h0m0s: " +
				"the snapshots are ready; copying to other regions",
			copied: "the copy in us-1 failed: not complete within 48h0m0s: the snapshots are ready; copying to other regions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCopying(tt.answer)
			if tt.change != nil {
				tt.change(w)
			}
			w.now = w.now.Add(tt.after)
			for range maxAttempts {
				makeCopiesAfter(t, w, 0)
			}
			s := &w.backup.Status
			got := []string{string(s.Phase), readyOf(w.backup).Reason, s.Message, meta.FindStatusCondition(s.Conditions, v1.ConditionCopied).Message}
			if diff := cmp.Diff([]string{string(tt.phase), tt.reason, tt.ready, tt.copied}, got); diff != "" {
				t.Errorf("phase, reason and messages (-want +got):\n%s", diff)
			}
			if c := s.Snapshots[0].Copies; len(c) != 2 || c[1].State != string(cloud.StateReady) {
				t.Errorf("copies %+v, want that of us-2 ready", c)
			}
		})
	}
}

// attempts answers requests for copies as a provider does that loses what it accepted.
type attempts struct {
	regionalCopies
	// lost is for each attempt how it is lost; attempts without are ready.
	lost []string
	// undeletable is the error of deletions.
	undeletable error
	// asked is how often an attempt was requested, and deleted are the IDs of deletions.
	asked   map[int]int
	deleted []string
}

// EnsureCopy shows a copy from its request on. One that disappears is there once.
func (a *attempts) EnsureCopy(_ context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	lost := ""
	if spec.Attempt < len(a.lost) {
		lost = a.lost[spec.Attempt]
	}
	first := a.asked[spec.Attempt] == 0
	if first && !spec.MaySend || !first && lost == "disappears" {
		return cloud.Snapshot{}, &cloud.Error{Class: cloud.ClassAmbiguous, Code: "NotVisible"}
	}
	if spec.MaySend {
		a.asked[spec.Attempt]++
	}
	made := cloud.Snapshot{Ref: cloud.SnapshotRef{Region: "us-1", ID: fmt.Sprintf("snap-us-1-%d", spec.Attempt)}, State: cloud.StateReady}
	switch {
	case lost != "" && first:
		made.State = cloud.StateCreating
	case lost == "fails":
		made.State, made.Message = cloud.StateFailed, "internal error"
	}
	return made, nil
}

func (a *attempts) GetSnapshot(context.Context, cloud.SnapshotRef) (cloud.Snapshot, error) {
	return cloud.Snapshot{}, &cloud.Error{Class: cloud.ClassNotFound}
}

func (a *attempts) DeleteSnapshot(_ context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	if a.undeletable == nil && owner.Hub != "" {
		a.deleted = append(a.deleted, ref.ID)
	}
	return a.undeletable
}

// checkRequests checks that each attempt was requested once, and no more attempts than may be.
func (a *attempts) checkRequests(t *testing.T) {
	t.Helper()
	for n, times := range a.asked {
		if times != 1 || n >= maxAttempts {
			t.Errorf("attempt %d was requested %d times", n, times)
		}
	}
}

// TestALostCopyIsBegunAnew checks that a copy that the provider lost is requested again under another name, so many
// times and not more, and that nothing is left of it.
func TestALostCopyIsBegunAnew(t *testing.T) {
	t.Parallel()
	const first, second, third = "snap-us-1-0", "snap-us-1-1", "snap-us-1-2"
	for name, tt := range map[string]struct {
		lost        []string
		undeletable error
		id          string
		phase       v1.BackupPhase
		deleted     []string
	}{
		"never":                       {id: first, phase: v1.BackupCompleted},
		"it fails":                    {lost: []string{"fails"}, id: second, phase: v1.BackupCompleted, deleted: []string{first}},
		"it fails and stays":          {lost: []string{"fails"}, undeletable: &cloud.Error{Class: cloud.ClassDenied}, id: second, phase: v1.BackupCompleted},
		"it disappears":               {lost: []string{"disappears"}, id: second, phase: v1.BackupCompleted},
		"it disappears and fails":     {lost: []string{"disappears", "fails"}, id: third, phase: v1.BackupCompleted, deleted: []string{second}},
		"it fails each time":          {lost: []string{"fails", "fails", "fails"}, phase: v1.BackupPartiallyCompleted, deleted: []string{first, second, third}},
		"it disappears each time":     {lost: []string{"disappears", "disappears", "disappears"}, phase: v1.BackupPartiallyCompleted},
		"it fails once more than may": {lost: []string{"fails", "fails", "fails", "fails"}, phase: v1.BackupPartiallyCompleted, deleted: []string{first, second, third}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := &attempts{lost: tt.lost, undeletable: tt.undeletable, asked: map[int]int{}}
			w := newCopyingFrom(provider)
			for range 5 * maxAttempts {
				makeCopiesAfter(t, w, cloud.VisibilityWindow)
			}
			if c := w.backup.Status.Snapshots[0].Copies[0]; c.ID != tt.id || w.backup.Status.Phase != tt.phase {
				t.Errorf("copy %q in phase %s (%s), want %q in phase %s", c.ID, w.backup.Status.Phase, c.Message, tt.id, tt.phase)
			}
			if diff := cmp.Diff(tt.deleted, provider.deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			provider.checkRequests(t)
		})
	}
}

// TestStoredElsewhere checks that a snapshot that the provider stores in another region counts there when it is
// ready.
func TestStoredElsewhere(t *testing.T) {
	t.Parallel()
	for state, want := range map[cloud.State]metav1.ConditionStatus{cloud.StateTaken: metav1.ConditionFalse, cloud.StateReady: metav1.ConditionTrue} {
		w := newCopying(regionalCopies{})
		w.backup.Status.Provider, w.backup.Status.Snapshots[0].State = v1.ProviderGCP, string(state)
		w.conclude(steps.RetryAfter(time.Minute, v1.ReasonUploading, "uploading"))
		if c := meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionCopied); c == nil || c.Status != want {
			t.Errorf("%s: %+v, want %s", state, c, want)
		}
	}
}
