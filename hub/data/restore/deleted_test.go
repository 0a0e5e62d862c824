package restore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// retiredTest runs passes over a Restore that has retired the only claim of a database, which waits for it. There are two API
// servers alone: nothing binds a claim.
type retiredTest struct {
	hub, member client.Client
	clock       *testclock.FakePassiveClock
	// away is true while the member does not answer.
	away       bool
	reconciler *Reconciler
}

// retiredIn returns a Restore that has replaced the volume old of the claim data-0 by new, after a change, in a member with objects.
func retiredIn(t *testing.T, change func(*v1.Restore), there ...client.Object) *retiredTest {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	w := replacing()
	w.restore.Finalizers, w.backup.Namespace = []string{v1.RestoreFinalizer}, "prod"
	w.restore.Status.Steps = recordOf(time.Unix(1000, 0), "Resolve", stepImport, v1.RestoreStepStop, stepRetire, stepBind)
	w.restore.Status.Steps[4].EndTime = nil
	change(w.restore)
	objects := []client.Object{&v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
		Namespace: "prod", Name: "shop", Annotations: map[string]string{v1.RestoringAnnotation: "r"},
	}}}
	for _, o := range there { // Tests that run at the same time share them.
		objects = append(objects, o.DeepCopyObject().(client.Object))
	}
	r := &retiredTest{
		hub:    fake.NewClientBuilder().WithScheme(kinds).WithObjects(w.backup, w.member, w.restore).WithStatusSubresource(w.restore).Build(),
		member: fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).Build(),
		clock:  testclock.NewFakePassiveClock(time.Unix(1000, 0)),
	}
	r.reconciler = NewReconciler(r.hub, Options{Clock: r.clock, Recorder: events.NewFakeRecorder(10), Member: func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
		if r.away {
			return nil, apierror.ErrNotConnected
		}
		return storage{client: r.member}, nil
	}})
	r.clock.SetTime(time.Unix(2000, 0))
	return r
}

// deleted has a user delete the Restore.
func deleted(r *v1.Restore) { r.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)} }

// asked has a user ask for what the Restore has replaced.
func asked(r *v1.Restore) { r.Annotations = map[string]string{v1.PutBackAnnotation: "true"} }

// emptyBefore has the Restore be of a database that had no claim.
func emptyBefore(r *v1.Restore) { r.Status.Volumes[0].Replaced = "" }

// returning has the Restore put back what it has replaced, after the database was started on what was restored.
func returning(r *v1.Restore) {
	r.Status.Volumes[0].State = v1.RestoredVolumeBound
	r.Status.Steps = append(recordOf(time.Unix(1000, 0), "Resolve", stepImport, v1.RestoreStepStop, stepRetire, stepBind, v1.RestoreStepStart),
		recordOf(time.Unix(1500, 0), v1.RestoreStepHalt, stepReturn)...)
	r.Status.Steps[len(r.Status.Steps)-1].EndTime = nil
}

func changes(those ...func(*v1.Restore)) func(*v1.Restore) {
	return func(r *v1.Restore) {
		for _, change := range those {
			change(r)
		}
	}
}

// pass runs passes and returns the Restore; nil if it is gone.
func (r *retiredTest) pass(t *testing.T, passes int) *v1.Restore {
	t.Helper()
	key := client.ObjectKey{Namespace: "prod", Name: "r"}
	for range passes {
		if _, err := r.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	after := &v1.Restore{}
	if err := r.hub.Get(t.Context(), key, after); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return after
}

// claim returns the claim of the database; nil if it has none.
func (r *retiredTest) claim(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	pvc := &corev1.PersistentVolumeClaim{}
	if err := r.member.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: claimName}, pvc); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return pvc
}

// annotations returns those of the copy.
func (r *retiredTest) annotations(t *testing.T) map[string]string {
	t.Helper()
	copied := &v1.EcommerceApp{}
	if err := r.member.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: "shop"}, copied); err != nil {
		t.Fatal(err)
	}
	return copied.Annotations
}

// TestDeletedPastRetire checks that a database does not start without its claim when a Restore is deleted, and which volume the
// claim gets: the one that it had if it is being put back, or a user asks for that and it can be, else the restored one.
func TestDeletedPastRetire(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.Restore)
		there  []client.Object
		want   string
	}{
		"being put back": {returning, []client.Object{kept("old", "")}, "old"},
		"being put back, where the former volume is gone":                {returning, []client.Object{kept("new", "")}, "new"},
		"being put back, where the former volume goes while it is bound": {returning, []client.Object{kept("new", ""), claimOn("old")}, "new"},
		"asked for, where the restored volume is gone":                   {asked, []client.Object{kept("old", "")}, "old"},
		"asked for, where the former volume is gone":                     {asked, []client.Object{kept("new", "")}, "new"},
		"not asked for": {func(*v1.Restore) {}, []client.Object{kept("old", ""), kept("new", "")}, "new"},
		"not asked for, and nothing was replaced": {emptyBefore, []client.Object{kept("new", "")}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := retiredIn(t, changes(tt.change, deleted), tt.there...)
			r.pass(t, 6)
			if got := r.claim(t); got == nil || got.Spec.VolumeName != tt.want {
				t.Fatalf("the claim is %+v, want it on %s", got, tt.want)
			}
			if a := r.annotations(t); a[v1.RestoringAnnotation] != "r" {
				t.Errorf("the database may start: %v", a)
			}
		})
	}
}

// TestDeletedWithTheRestoredVolume checks that a database to which a volume is given that it did not have before Return may start, on
// data that has the passwords that it had.
func TestDeletedWithTheRestoredVolume(t *testing.T) {
	t.Parallel()
	r := retiredIn(t, changes(returning, deleted), kept("new", ""))
	r.pass(t, 4)
	pvc := r.claim(t)
	if pvc == nil || len(pvc.Annotations) > 0 {
		t.Fatalf("the claim is %+v", pvc)
	}
	if err := r.member.Create(t.Context(), kept("old", "")); err != nil { // It has been decided.
		t.Fatal(err)
	}
	pvc.Status.Phase = corev1.ClaimBound
	if err := r.member.Status().Update(t.Context(), pvc); err != nil {
		t.Fatal(err)
	}
	if left := r.pass(t, 2); left != nil {
		t.Errorf("it is left: %s", left.Status.Message)
	}
	if diff := cmp.Diff(map[string]string{v1.LoadedAnnotation: "r", v1.RestoredAnnotation: "r-uid"}, r.annotations(t)); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
}

// TestDeletedWithNothingToWaitFor checks that a Restore that is deleted ends where nothing could start empty any more: the former
// volumes are bound, or there is no application.
func TestDeletedWithNothingToWaitFor(t *testing.T) {
	t.Parallel()
	returned := func(r *v1.Restore) {
		returning(r)
		r.Status.Steps[len(r.Status.Steps)-1].EndTime = v1.Seconds(time.Unix(1600, 0))
	}
	for name, tt := range map[string]struct {
		change  func(*v1.Restore)
		appGone bool
		there   []client.Object
		ends    bool
	}{
		"put back, and the database is not ready":       {returned, false, []client.Object{kept("old", ""), claimOn("old")}, true},
		"all volumes are gone":                          {func(*v1.Restore) {}, false, nil, false},
		"and so is the application":                     {func(*v1.Restore) {}, true, nil, true},
		"being put back, and all volumes are gone":      {returning, false, nil, false},
		"and the application of what is being put back": {returning, true, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := retiredIn(t, changes(tt.change, deleted), tt.there...)
			if tt.appGone {
				if err := r.member.Delete(t.Context(), &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}); err != nil {
					t.Fatal(err)
				}
			}
			if left := r.pass(t, 3); (left == nil) != tt.ends {
				t.Errorf("it has ended: %t, %+v", left == nil, left)
			}
		})
	}
}

// TestDeletedWithoutVolumes checks that a database is released when a Restore is deleted that has replaced nothing, and whose
// volume is gone, and that it is not taken for one with the data of the backup. One that has replaced a volume waits for a user.
func TestDeletedWithoutVolumes(t *testing.T) {
	t.Parallel()
	released := map[string]string{v1.RestoredAnnotation: "r-uid"}
	waits := map[string]string{v1.RestoringAnnotation: "r"}
	for name, tt := range map[string]struct {
		change func(*v1.Restore)
		there  []client.Object
		want   map[string]string
	}{
		"before it was bound":    {emptyBefore, nil, released},
		"while it is bound":      {emptyBefore, []client.Object{claimOn("new")}, released},
		"one was replaced":       {func(*v1.Restore) {}, []client.Object{kept("old", "")}, waits},
		"one was replaced, gone": {returning, nil, waits},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := retiredIn(t, changes(tt.change, deleted), tt.there...)
			left := r.pass(t, 3)
			if diff := cmp.Diff(tt.want, r.annotations(t)); diff != "" {
				t.Errorf("the copy (-want +got):\n%s", diff)
			}
			if pvc := r.claim(t); pvc != nil {
				t.Errorf("the claim on %s is left", pvc.Spec.VolumeName)
			}
			if left == nil != (tt.want[v1.RestoringAnnotation] == "") || left != nil && !meta.IsStatusConditionTrue(left.Status.Conditions, v1.ConditionStalled) {
				t.Errorf("the Restore is %+v", left)
			}
		})
	}
}

// TestDeletedUntilAVolumeIsThere checks that a Restore whose volumes are all gone waits for any of them: a user may make a
// PersistentVolume again of what is in the cloud.
func TestDeletedUntilAVolumeIsThere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"old", "new"} {
		r := retiredIn(t, changes(returning, deleted))
		r.pass(t, 3)
		if err := r.member.Create(t.Context(), kept(name, "")); err != nil {
			t.Fatal(err)
		}
		r.pass(t, 3)
		if pvc := r.claim(t); pvc == nil || pvc.Spec.VolumeName != name {
			t.Errorf("the claim is %+v, want it on %s", pvc, name)
		}
	}
}

// TestDeletedKeepsOtherClaims checks that a claim that was made meanwhile is left to the database, where there is no volume to take
// its place.
func TestDeletedKeepsOtherClaims(t *testing.T) {
	t.Parallel()
	r := retiredIn(t, changes(emptyBefore, deleted), claimOn("another"), kept("another", claimName))
	if left := r.pass(t, 3); left != nil {
		t.Errorf("it is left: %s", left.Status.Message)
	}
	if pvc := r.claim(t); pvc == nil || pvc.Spec.VolumeName != "another" {
		t.Errorf("the claim is %+v", pvc)
	}
}

// TestGoneVolumes checks that a Restore whose volume is gone is Stalled, and says what a user can do.
func TestGoneVolumes(t *testing.T) {
	t.Parallel()
	const end = ": kubectl delete restore r -n prod "
	for name, tt := range map[string]struct {
		change func(*v1.Restore)
		there  []client.Object
		want   []string
	}{
		"nothing was replaced": {emptyBefore, nil, []string{"at the step Bind: ", "PersistentVolume new", "; nothing was replaced" + end + "releases the database"}},
		"nothing was replaced, and a claim waits": {
			emptyBefore, []client.Object{claimOn("new")}, []string{"PersistentVolume new", "; nothing was replaced" + end},
		},
		"one was replaced":        {func(*v1.Restore) {}, nil, []string{"PersistentVolume new", "restore undo r -n prod puts it back"}},
		"the former, before Halt": {asked, []client.Object{kept("new", "")}, []string{"old cannot be put back: there is no PersistentVolume old", "what was restored is there" + end}},
		"the former, in Return":   {returning, []client.Object{kept("new", ""), claimOn("old")}, []string{"old cannot be put back: ", "PersistentVolume old", "what was restored is there" + end}},
		"both, in Return":         {returning, []client.Object{claimOn("old")}, []string{"old cannot be put back: ", "PersistentVolume old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := retiredIn(t, tt.change, tt.there...).pass(t, 2)
			c := meta.FindStatusCondition(after.Status.Conditions, v1.ConditionStalled)
			if c == nil || c.Reason != v1.ReasonVolumeChanged || slices.ContainsFunc(tt.want, func(s string) bool { return !strings.Contains(c.Message, s) }) {
				t.Fatalf("Stalled is %+v, want %q", c, tt.want)
			}
			if strings.Contains(c.Message, end) != strings.Contains(strings.Join(tt.want, ""), end) {
				t.Errorf("it says %q", c.Message)
			}
		})
	}
}

// TestDeletedInAPause checks that a Restore that is being deleted does not begin to put back what it replaced while the application
// is paused, and says so in the words of one that is not being deleted.
func TestDeletedInAPause(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.Restore){"put back": asked, "put back and deleted": changes(asked, deleted)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := retiredIn(t, change, kept("old", ""), kept("new", ""))
			app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}, Spec: v1.EcommerceAppSpec{Paused: true}}
			if err := r.hub.Create(t.Context(), app); err != nil {
				t.Fatal(err)
			}
			after := r.pass(t, 3)
			if got := reasonOf(after); got != v1.ReasonPaused || !strings.HasSuffix(after.Status.Message, "the restore is held back by spec.paused of EcommerceApp shop") {
				t.Errorf("%s: %s", got, after.Status.Message)
			}
			if s := after.Status; s.Step(v1.RestoreStepHalt) != nil || meta.FindStatusCondition(s.Conditions, v1.ConditionStalled) != nil {
				t.Errorf("in the pause: %+v", s)
			}
			app.Spec.Paused = false
			if err := r.hub.Update(t.Context(), app); err != nil {
				t.Fatal(err)
			}
			if s := r.pass(t, 3).Status; s.Step(stepReturn) == nil || !s.ResumeTime.Equal(v1.Seconds(r.clock.Now())) {
				t.Errorf("after the pause: %+v", s)
			}
		})
	}
}

// stalled returns the condition Stalled of the Restore after some time; nil without one.
func (r *retiredTest) stalled(t *testing.T, later time.Duration) *metav1.Condition {
	t.Helper()
	r.clock.SetTime(r.clock.Now().Add(later))
	return meta.FindStatusCondition(r.pass(t, 2).Status.Conditions, v1.ConditionStalled)
}

// TestStalledWhileAway checks that Stalled stays as it is while the member does not answer, and that the time of a step begins again
// when it does, whether the Restore is being deleted or not.
func TestStalledWhileAway(t *testing.T) {
	t.Parallel()
	unbound := claimOn("new")
	unbound.Status.Phase = corev1.ClaimPending
	waits := []client.Object{kept("new", ""), unbound}
	for name, tt := range map[string]struct {
		change func(*v1.Restore)
		there  []client.Object
		// back is true if the Restore is Stalled as soon as the member is back.
		back bool
	}{
		"cannot go on":              {func(*v1.Restore) {}, nil, true},
		"cannot go on, and deleted": {deleted, nil, true},
		"waits":                     {func(*v1.Restore) {}, waits, false},
		"waits, and deleted":        {deleted, waits, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := retiredIn(t, tt.change, tt.there...)
			before := r.stalled(t, stallsAfter)
			if before == nil {
				t.Fatal("it is not Stalled")
			}
			r.away = true
			if diff := cmp.Diff(before, r.stalled(t, stallsAfter)); diff != "" {
				t.Errorf("while the member is away (-want +got):\n%s", diff)
			}
			r.away = false
			if back := r.stalled(t, time.Minute); (back != nil) != tt.back || tt.back && !back.LastTransitionTime.Equal(&before.LastTransitionTime) {
				t.Errorf("when it is back: %+v", back)
			}
			if again := r.stalled(t, stallsAfter+time.Minute); again == nil || again.Message != before.Message {
				t.Errorf("at last: %+v", again)
			}
		})
	}
}
