package commands

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// restoreAt returns a Restore that has begun steps, the last of which is not complete, and replaces a volume.
func restoreAt(phase v1.RestorePhase, begun ...string) *v1.Restore {
	r := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "r", UID: "r-uid"}}
	r.Spec.BackupRef.Name = "monday"
	r.Status.Phase = phase
	r.Status.Volumes = []v1.RestoredVolume{{Claim: "data-shop-database-0", PersistentVolume: "pvc-new", Replaced: "pvc-old"}}
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for i, name := range begun {
		step := v1.StepStatus{Name: name, StartTime: metav1.NewTime(at)}
		if i < len(begun)-1 {
			step.EndTime = &metav1.Time{Time: at}
		}
		r.Status.Steps = append(r.Status.Steps, step)
	}
	return r
}

// changed returns a Restore with a change.
func changed(r *v1.Restore, change func(*v1.Restore)) *v1.Restore {
	change(r)
	return r
}

func stalled(r *v1.Restore, message string) *v1.Restore {
	r.Status.Message = message
	meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1.ReasonVolumeChanged, Message: message})
	return r
}

// TestWhatCanBeUndone: what has replaced a volume is undone. All else says where it stands, and what to do.
func TestWhatCanBeUndone(t *testing.T) {
	t.Parallel()
	inProgress := func(begun ...string) *v1.Restore { return restoreAt(v1.RestoreInProgress, begun...) }
	const again = "Nothing was changed. To restore another Backup: kubectl shopfleet backup list -n production"
	for name, tt := range map[string]struct {
		restore   *v1.Restore
		want, say string
	}{
		"stalled":                   {stalled(inProgress("Resolve", "Import", "Stop", "Retire", "Bind"), "at the step Bind: refused"), "", ""},
		"the database starts":       {restoreAt(v1.RestoreStarting, "Stop", "Retire", "Bind", "Start"), "", ""},
		"completed":                 {restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Bind", "Start", "Release"), "", ""},
		"put back":                  {changed(restoreAt(v1.RestoreFailed, "Stop", "Retire", "Halt", "Return", "PutBack"), func(r *v1.Restore) { r.Status.Steps[4].EndTime = &metav1.Time{} }), "", ""},
		"being put back":            {restoreAt(v1.RestoreFailed, "Stop", "Retire", "Halt"), "", ""},
		"asked for":                 {changed(restoreAt(v1.RestoreFailed, "Stop", "Retire"), func(r *v1.Restore) { r.Annotations = map[string]string{v1.PutBackAnnotation: "true"} }), "", ""},
		"not begun":                 {changed(restoreAt(""), func(r *v1.Restore) { r.Status.Volumes = nil }), "it has replaced nothing yet, and is Pending", "Nothing was changed. To take it back: kubectl delete restore r -n production"},
		"before its point":          {changed(inProgress("Resolve", "Import"), func(r *v1.Restore) { r.Status.Message = "waiting" }), "it has replaced nothing yet, and is InProgress, at the step Import: waiting", "Nothing was changed. To take it back: kubectl delete restore r -n production"},
		"there was no volume":       {changed(restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Bind"), func(r *v1.Restore) { r.Status.Volumes[0].Replaced = "" }), "it has replaced no volume, and is Completed, at the step Bind", again},
		"failed before its point":   {restoreAt(v1.RestoreFailed, "Resolve"), "it has replaced no volume, and is Failed, at the step Resolve", again},
		"another took the place":    {changed(restoreAt(v1.RestoreFailed, "Stop", "Retire", "Bind"), func(r *v1.Restore) { r.Status.Message = "given another volume" }), "it is Failed, at the step Bind: given another volume", again},
		"a dump":                    {changed(inProgress("Resolve", "Load"), func(r *v1.Restore) { r.Status.Dump = &v1.RestoredDump{} }), "it loads a dump, and what that replaces is not kept; it is InProgress, at the step Load", again},
		"a verification":            {changed(inProgress("Resolve"), func(r *v1.Restore) { r.Spec.Verify = true }), "it verifies a Backup, and replaces nothing", "Nothing was changed."},
		"being deleted":             {changed(inProgress("Stop", "Retire"), func(r *v1.Restore) { r.DeletionTimestamp = &metav1.Time{} }), "", ""},
		"before its point, deleted": {changed(inProgress("Stop"), func(r *v1.Restore) { r.DeletionTimestamp, r.Status.Volumes = &metav1.Time{}, nil }), "it is being deleted", "Nothing was changed."},
		"completed, deleted":        {changed(restoreAt(v1.RestoreCompleted, "Stop", "Retire"), func(r *v1.Restore) { r.DeletionTimestamp = &metav1.Time{} }), "it is being deleted", "Nothing was changed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := refusal(tt.restore)
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !errors.Is(err, errNotUndone) || err.Error() != `undoing Restore "r": it cannot be undone: `+tt.want || hint.For(err) != tt.say {
				t.Errorf("%v; %s\nwant %s; %s", err, hint.For(err), tt.want, tt.say)
			}
		})
	}
}

// TestLaterRestores: a volume that another Restore has replaced is put back by the undo of that one first.
func TestLaterRestores(t *testing.T) {
	t.Parallel()
	r := restoreAt(v1.RestoreCompleted, "Stop", "Retire")
	later := func(change func(*v1.Restore)) []v1.Restore {
		o := restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Halt", "Return", "PutBack")
		o.Name, o.Status.Volumes[0].Replaced = "later", "pvc-new"
		change(o)
		return []v1.Restore{*r, *o}
	}
	for name, tt := range map[string]struct {
		others []v1.Restore
		want   string
	}{
		"none":           {[]v1.Restore{*r}, ""},
		"one":            {later(func(*v1.Restore) {}), "later"},
		"of another one": {later(func(o *v1.Restore) { o.Status.Volumes[0].Replaced = "pvc-other" }), ""},
		"undone":         {later(func(o *v1.Restore) { o.Status.Steps[4].EndTime = &metav1.Time{} }), ""},
		"not that far":   {later(func(o *v1.Restore) { o.Status.Steps = o.Status.Steps[:1] }), ""},
	} {
		if got := replacedBy(r, tt.others); got != tt.want {
			t.Errorf("%s: replaced by %q, want %q", name, got, tt.want)
		}
	}
}

// TestWhatAnUndoLoses: the question names what is put back, and what the database is without afterwards.
func TestWhatAnUndoLoses(t *testing.T) {
	t.Parallel()
	backup := &v1.Backup{}
	backup.Spec.AppRef.Name, backup.Spec.ClusterRef.Name = "shop", "eu-1"
	const back = "stop the database of EcommerceApp production/shop in member eu-1, and put back PersistentVolume pvc-old as claim data-shop-database-0, " +
		"with its data of 2026-11-21T09:30:00Z, which replicas copy again. "
	for name, tt := range map[string]struct {
		restore *v1.Restore
		want    string
	}{
		"it has run":     {restoreAt(v1.RestoreStarting, "Stop", "Retire", "Bind", "Start"), back + "It loses what was written since: that stays in PersistentVolume pvc-new"},
		"it has not run": {restoreAt(v1.RestoreInProgress, "Stop", "Retire", "Bind"), back + "It has not run since"},
		"elsewhere": {changed(restoreAt(v1.RestoreInProgress, "Stop", "Retire"), func(r *v1.Restore) { r.Spec.ClusterRef.Name = "us-1" }),
			strings.Replace(back, "eu-1", "us-1", 1) + "It has not run since"},
	} {
		if diff := cmp.Diff(tt.want, undoAction(tt.restore, backup)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUndoProgress: a wait ends when the volumes are put back, or when the hub says that they cannot be.
func TestUndoProgress(t *testing.T) {
	t.Parallel()
	const before = "at the step Bind: refused"
	requested := stalled(restoreAt(v1.RestoreInProgress, "Stop", "Retire", "Bind"), before)
	for name, tt := range map[string]struct {
		restore      *v1.Restore
		text         string
		done, failed bool
	}{
		"not observed": {requested, "Requested, and still Stalled: " + before, false, false},
		"not begun":    {restoreAt(v1.RestoreInProgress, "Stop", "Retire", "Bind"), "Requested", false, false},
		"in progress":  {changed(restoreAt(v1.RestoreStarting, "Stop", "Retire", "Halt"), func(r *v1.Restore) { r.Status.Message = "waiting" }), "Step Halt: waiting", false, false},
		"impossible":   {stalled(restoreAt(v1.RestoreInProgress, "Stop", "Retire", "Bind"), "there is no Backup"), "Stalled: there is no Backup", true, true},
		"put back": {changed(restoreAt(v1.RestoreFailed, "Stop", "Retire", "Halt", "Return", "PutBack"), func(r *v1.Restore) {
			r.Status.Steps[4].EndTime, r.Status.Message = &metav1.Time{}, "it runs"
		}), "PutBack: it runs", true, false},
	} {
		if got := undoProgress(requested)(tt.restore); got.text != tt.text || got.done != tt.done || got.failed != tt.failed {
			t.Errorf("%s: %+v, want %+v", name, got, tt)
		}
	}
	again := stalled(restoreAt(v1.RestoreInProgress, "Stop", "Retire", "Halt"), before)
	if got := undoProgress(again)(again); !got.failed {
		t.Errorf("another wait for an undo that cannot go on: %+v", got)
	}
}

// TestRestoreProgress: a wait for a Restore shows its step, and ends when it is Stalled.
func TestRestoreProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		restore      *v1.Restore
		text         string
		done, failed bool
	}{
		"not begun":   {restoreAt(v1.RestorePending), "Pending", false, false},
		"in progress": {changed(restoreAt(v1.RestoreInProgress, "Resolve", "Import"), func(r *v1.Restore) { r.Status.Message = "waiting" }), "InProgress, step Import: waiting", false, false},
		"stalled":     {stalled(restoreAt(v1.RestoreInProgress, "Stop", "Retire"), "refused"), "Stalled: refused", true, true},
		"completed":   {restoreAt(v1.RestoreCompleted, "Stop", "Release"), "Completed", true, false},
		"failed":      {restoreAt(v1.RestoreFailed, "Resolve"), "Failed", true, true},
	} {
		if got := restoreProgress(tt.restore); got.text != tt.text || got.done != tt.done || got.failed != tt.failed {
			t.Errorf("%s: %+v, want %+v", name, got, tt)
		}
	}
}

// TestAskForAnUndo: the annotation is written of the Restore that the user has seen, while that can be undone, and of none in a
// client dry run.
func TestAskForAnUndo(t *testing.T) {
	t.Parallel()
	seen := restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Start")
	for name, tt := range map[string]struct {
		stored *v1.Restore
		dryRun dryRun
		fails  error
	}{
		"dry run":       {restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Start"), dryRunClient, nil},
		"written":       {restoreAt(v1.RestoreCompleted, "Stop", "Retire", "Start"), dryRunNone, errWritten},
		"created again": {changed(restoreAt(v1.RestoreCompleted, "Stop", "Retire"), func(r *v1.Restore) { r.UID = "another" }), dryRunNone, errCreatedAgain},
		"not any more":  {restoreAt(v1.RestoreFailed, "Stop", "Retire"), dryRunNone, errNotUndone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&restoreUndo{dryRun: tt.dryRun}).annotate(t.Context(), readOnly(t, client.Object(tt.stored)), seen)
			if !errors.Is(err, tt.fails) || err == nil && got.Annotations[v1.PutBackAnnotation] != "true" {
				t.Errorf("%+v and %v, want %v", got, err, tt.fails)
			}
		})
	}
}
