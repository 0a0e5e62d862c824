package restore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// storage is a member of which there is an API server alone.
type storage struct {
	cluster.Cluster
	client client.Client
}

func (s storage) GetClient() client.Client    { return s.client }
func (s storage) GetAPIReader() client.Reader { return s.client }

// replacing returns a Restore in a member with objects, which has replaced the volume old of the claim data-0 by new.
func replacing(objects ...client.Object) *work {
	w := situation()
	w.restore.Namespace, w.restore.Name = "prod", "r"
	w.restore.Status.Volumes = []v1.RestoredVolume{{Claim: "data-0", PersistentVolume: "new", Replaced: "old"}}
	w.restore.Status.Steps = recordOf(time.Unix(1000, 0), v1.RestoreStepStop, stepRetire, stepBind)
	w.stored = w.restore.DeepCopy()
	w.targetFacts = &targetFacts{
		cluster: storage{client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build()},
		claims:  map[string]*claim{},
	}
	return w
}

// TestStalledMessage checks that a Restore that cannot go on names the command that puts back what it replaced, whole, however
// long the cause is.
func TestStalledMessage(t *testing.T) {
	t.Parallel()
	const way = "; what was replaced is kept in old: kubectl shopfleet restore undo r -n prod puts it back"
	for name, tt := range map[string]struct {
		change      func(*work)
		cause, want string
	}{
		"past its point":      {func(*work) {}, "not any more", "at the step Bind: not any more" + way},
		"with a long cause":   {func(*work) {}, strings.Repeat("word ", 300), "at the step Bind: " + strings.TrimSpace(strings.Repeat("word ", 183)) + "..." + way},
		"nothing is replaced": {func(w *work) { w.restore.Status.Volumes[0].Replaced = "" }, "not any more", "at the step Bind: not any more"},
	} {
		w := replacing()
		tt.change(w)
		w.conclude(w.onward(steps.Fail(v1.ReasonRegionNotAllowed, "%s", tt.cause)))
		c := meta.FindStatusCondition(w.restore.Status.Conditions, v1.ConditionStalled)
		if c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("%s: Stalled is %+v", name, c)
			continue
		}
		if diff := cmp.Diff(tt.want, c.Message); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestOverdue checks that a Restore that waits for too long from its point of no return on is Stalled while it goes on, but not
// one that is paused, whose member is away, or whose database serves.
func TestOverdue(t *testing.T) {
	t.Parallel()
	waiting := steps.RetryAfter(time.Second, v1.ReasonStartingDatabase, "waiting")
	const message = "at the step Bind: waiting; what was replaced is kept in old: kubectl shopfleet restore undo r -n prod puts it back"
	for name, tt := range map[string]struct {
		change func(*work)
		result steps.Result
		want   string
	}{
		"for long":      {func(*work) {}, waiting, message},
		"not yet":       {func(w *work) { w.now = w.now.Add(-2 * time.Second) }, waiting, ""},
		"since a pause": {func(w *work) { w.restore.Status.ResumeTime = v1.Seconds(w.now) }, waiting, ""},
		"in a pause":    {func(*work) {}, steps.RetryAfter(time.Second, v1.ReasonPaused, "waiting"), ""},
		"since the member is back": {func(w *work) {
			w.restore.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Reason: v1.ReasonClusterUnreachable}}
		}, waiting, ""},
		"since the hub began":    {func(w *work) { w.began = w.now }, waiting, ""},
		"what is left":           {func(*work) {}, steps.RetryAfter(time.Second, v1.ReasonDeleting, "waiting"), ""},
		"the member is away":     {func(*work) {}, steps.RetryAfter(time.Second, v1.ReasonClusterUnreachable, "waiting"), ""},
		"the database serves":    {func(w *work) { w.restore.Status.Steps[2].Name = stepRelease }, waiting, ""},
		"before its point":       {func(w *work) { w.restore.Status.Steps = w.restore.Status.Steps[:1] }, waiting, ""},
		"another took the place": {func(*work) {}, steps.Fail(v1.ReasonConflict, "taken"), ""},
		"complete":               {func(*work) {}, steps.Result{}, ""},
		"it has yet to go back":  {func(w *work) { asked(w.restore) }, waiting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replacing()
			w.now = w.restore.Status.Steps[2].StartTime.Add(stallsAfter + time.Second)
			tt.change(w)
			got := w.onward(tt.result)
			if w.stalls != (tt.want != "") || got.Fatal != tt.result.Fatal || got.Wait != tt.result.Wait || w.stalls && got.Message != tt.want {
				t.Errorf("stalled: %t, %+v", w.stalls, got)
			}
		})
	}
}

// TestResumed checks that a Restore past Retire whose member was away says since when it goes on, until it has ended.
func TestResumed(t *testing.T) {
	t.Parallel()
	w := replacing()
	w.now = time.Unix(5000, 0)
	w.restore.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Reason: v1.ReasonClusterUnreachable}}
	w.conclude(w.onward(steps.RetryAfter(time.Second, v1.ReasonStartingDatabase, "waiting")))
	if at := w.restore.Status.ResumeTime; at == nil || !at.Equal(&metav1.Time{Time: w.now}) {
		t.Errorf("it goes on since %s", at)
	}
	w.conclude(w.onward(steps.Result{}))
	if at := w.restore.Status.ResumeTime; at != nil {
		t.Errorf("it has ended, and goes on since %s", at)
	}
}

// TestReturnVolumes checks that the claim is bound to the volume that it had, which waits for the claim that was deleted, and
// that the restored volume stays.
func TestReturnVolumes(t *testing.T) {
	t.Parallel()
	volume := func(name, uid string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "prod", Name: "data-0", UID: types.UID(uid)},
		}}
	}
	old, restored := volume("old", "1"), volume("new", "2")
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "data-0", UID: "2"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "new"}}
	w := replacing(old, restored, pvc)
	c := w.targetFacts.cluster.GetClient()
	for pass := range 3 {
		w.targetFacts.claims = map[string]*claim{}
		live, err := w.readClaim(t.Context(), c, "data-0")
		if err != nil {
			t.Fatal(err)
		}
		if live != nil {
			w.targetFacts.claims["data-0"] = live
		}
		if result := w.returnVolumes(t.Context()); result.Reason != v1.ReasonCreatingVolumes {
			t.Fatalf("pass %d: %+v", pass, result)
		}
	}
	if !equality.Semantic.DeepEqual(w.stored.Status, w.restore.Status) {
		t.Errorf("the status is %+v", w.restore.Status)
	}
	for _, o := range []client.Object{old, restored, pvc} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	if pvc.Spec.VolumeName != "old" || old.Spec.ClaimRef.UID != "" || old.Spec.ClaimRef.Name != "data-0" {
		t.Errorf("the claim is of %s, which waits for %+v", pvc.Spec.VolumeName, old.Spec.ClaimRef)
	}
	if restored.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("the restored volume is to be: %s", restored.Spec.PersistentVolumeReclaimPolicy)
	}
}

// TestNothingToReturnTo checks that no database is stopped for a volume that is there no longer.
func TestNothingToReturnTo(t *testing.T) {
	t.Parallel()
	w := replacing()
	if got := w.findReplaced(t.Context()); !got.Fatal || got.Message != "there is no PersistentVolume old in us-1" {
		t.Errorf("without the volume: %+v", got)
	}
	w = replacing(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "old"}})
	if got := w.findReplaced(t.Context()); got.Stops() {
		t.Errorf("with the volume: %+v", got)
	}
}
