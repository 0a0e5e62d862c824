package backup

import (
	"context"
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

// regionalCopies answers requests for copies in one region.
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

// newCopying returns a pass over a Backup whose snapshot is ready and should be copied to us-1 and us-2.
// us-1 gives the answer, and us-2 copies.
func newCopying(answer regionalCopies) *work {
	w := newWork(emptyHub{}, nil)
	w.options.Accounts = accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
		copies := answer
		if c.Region != "us-1" {
			copies = regionalCopies{state: cloud.StateReady}
		}
		copies.region = c.Region
		return cloud.Session{Snapshots: copies}, nil
	}}})
	w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, Regions: []string{"eu-1", "us-1", "us-2"}}, nil)
	w.backup.Spec.Method, w.backup.Spec.CopyToRegions = v1.BackupSnapshot, []string{"us-1", "us-2", "eu-1"}
	w.backup.Status.Account, w.backup.Status.Provider, w.backup.Status.Dump = "prod", v1.ProviderAWS, nil
	w.backup.Status.Snapshots = []v1.VolumeSnapshot{{Claim: "c", CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap-1", State: string(cloud.StateReady)}}}
	w.stored = w.backup.DeepCopy()
	return w
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
			w.options.Clock = testclock.NewFakeClock(w.now)
			for range maxAttempts {
				result, err := w.makeCopies(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				w.conclude(result)
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
