package logical

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// remove is one pass of the hub over a Backup that is being deleted.
func (w *world) remove(reached bool) stepresult.Result {
	r := Removal{Backup: w.backup, Bucket: w.bucket(), Now: w.clock.Now()}
	if reached {
		r.Reader, r.Writer = w, w
	}
	return r.Advance(w.t.Context())
}

func TestADumpIsRemoved(t *testing.T) {
	t.Parallel()
	waiting := func(wait time.Duration) stepresult.Result {
		return stepresult.Hold(wait, v1.ReasonDeleting, "waiting until nothing more can be sent to the bucket dumps")
	}
	sent := func(w *world) {
		w.pass()
		w.sends()
		w.ends(order.ExitDone, "sent")
		w.pass()
	}
	for name, tt := range map[string]struct {
		change  func(*world)
		reached bool
		want    []stepresult.Result
	}{
		"sent":                             {sent, true, []stepresult.Result{{}}},
		"sent, and the member is away":     {sent, false, []stepresult.Result{{}}},
		"under way":                        {func(w *world) { w.pass(); w.sends() }, true, []stepresult.Result{waiting(stepresult.Member), {}}},
		"under way, and away":              {func(w *world) { w.pass(); w.sends(); w.clock.Step(time.Hour - time.Second) }, false, []stepresult.Result{waiting(time.Second), {}}},
		"under way, and Jobs are not ours": {func(w *world) { w.pass(); w.refuses["delete"] = errors.New("x"); w.clock.Step(time.Hour - time.Second) }, true, []stepresult.Result{waiting(time.Second), {}}},
		"ended, and nobody looked":         {func(w *world) { w.pass(); w.sends(); w.ends(order.ExitRetry, "x") }, true, []stepresult.Result{{}}},
		"never begun": {func(w *world) {
			w.refuses["create"] = errors.New("x")
			w.pass()
			delete(w.refuses, "create")
		}, true, []stepresult.Result{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.change(w)
			for i, want := range tt.want {
				if diff := cmp.Diff(want, w.remove(tt.reached)); diff != "" {
					t.Fatalf("pass %d, result (-want +got):\n%s", i, diff)
				}
				if i < len(tt.want)-1 {
					w.sends() // As late as can be.
					w.clock.Step(time.Second)
				}
			}
			if left := w.store.Keys(); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestPodsThatStillRunMaySend, though their Job is gone.
func TestPodsThatStillRunMaySend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pass()
	delete(w.objects, "*v1.Job "+sendJob)
	w.pods = []corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
	if v := w.remove(true); v.Wait <= 0 {
		t.Errorf("result %+v", v)
	}
	w.pods[0].Status.Phase = corev1.PodSucceeded
	if v := w.remove(true); v.Stops() {
		t.Errorf("result %+v", v)
	}
}

func TestWhatKeepsADumpInTheBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pass()
	w.sends()
	w.store.Lock(logicalbackup.PartKey(testFacts, 0), true)
	if v := w.remove(true); v.Reason != v1.ReasonInUse || v.Wait <= 0 {
		t.Errorf("a part that is held: %+v", v)
	}
	w.other = "else"
	if v := w.remove(true); v.Reason != v1.ReasonAccountNotReady || v.Wait <= 0 {
		t.Errorf("another bucket: %+v", v)
	}
	if _, there := w.store.Content(logicalbackup.PartKey(testFacts, 0)); !there {
		t.Error("it is gone")
	}
	w.other = ""
	w.store.Lock(logicalbackup.PartKey(testFacts, 0), false)
	for i := range 2 * eraseAtOnce {
		w.store.Put(fmt.Sprintf("%s/left-%03d", testFacts, i), bytes.Repeat([]byte("x"), i))
	}
	w.clock.Step(2 * time.Hour)
	passes := 1
	for ; w.remove(true).Stops(); passes++ {
		if passes > 5 {
			t.Fatalf("left %v", w.store.Keys())
		}
	}
	if passes != 3 || len(w.store.Keys()) != 0 {
		t.Errorf("%d passes, left %v", passes, w.store.Keys())
	}
}
