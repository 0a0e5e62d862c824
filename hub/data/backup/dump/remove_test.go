package dump

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// removes checks that a dump is removed when no more of it can be sent.
func (e *testEnv) removes(t *testing.T) {
	waiting := func(wait time.Duration) steps.Result {
		return steps.RetryAfter(wait, v1.ReasonDeleting, "waiting until nothing more can be sent to the bucket dumps")
	}
	underWay := func(t *testing.T) { t.Helper(); e.send(t); e.putPart() }
	almostExpired := func(t *testing.T) { t.Helper(); underWay(t); e.Clock.Step(time.Hour - time.Second) }
	sent := func(t *testing.T) {
		t.Helper()
		underWay(t)
		e.endSend(t, order.ExitDone, "sent")
		e.send(t)
	}
	for name, tt := range map[string]struct {
		change  func(*testing.T)
		reached bool
		want    []steps.Result
	}{
		"sent":                         {sent, true, []steps.Result{{}}},
		"sent, and the member is away": {sent, false, []steps.Result{{}}},
		"under way":                    {underWay, true, []steps.Result{waiting(steps.Member), {}}},
		"under way, and away":          {almostExpired, false, []steps.Result{waiting(time.Second), {}}},
		"under way, and Jobs are not ours": {func(t *testing.T) { t.Helper(); almostExpired(t); e.process.Refuse("delete", errForbidden()) },
			true, []steps.Result{waiting(time.Second), {}}},
		"ended, and not read": {func(t *testing.T) { t.Helper(); underWay(t); e.endSend(t, order.ExitRetry, "x") }, true, []steps.Result{{}}},
		"never begun": {func(t *testing.T) {
			t.Helper()
			e.process.Refuse("create", errors.New("x"))
			e.send(t)
		}, true, []steps.Result{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			e.resetToSend(t)
			tt.change(t)
			for i, want := range tt.want {
				if diff := cmp.Diff(want, e.remove(t, tt.reached)); diff != "" {
					t.Fatalf("pass %d, result (-want +got):\n%s", i, diff)
				}
				if i < len(tt.want)-1 {
					e.putPart() // As late as can be.
					e.Clock.Step(time.Second)
				}
			}
			if left := e.Buckets.Keys(); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// podsMaySend checks that a running pod may still send after its Job was deleted.
func (e *testEnv) podsMaySend(t *testing.T) {
	e.resetToSend(t)
	e.send(t)
	pod := e.RunJob(t)
	e.deleteJob(t, sendJob)
	if result := e.remove(t, true); result.Wait <= 0 {
		t.Errorf("result %+v", result)
	}
	backupenv.Change(t, e.Env, pod.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	if result := e.remove(t, true); result.Stops() {
		t.Errorf("result %+v", result)
	}
}

// obstaclesOfRemoval checks that a lock or another bucket keeps the dump.
func (e *testEnv) obstaclesOfRemoval(t *testing.T) {
	e.resetToSend(t)
	e.send(t)
	e.putPart()
	part := dumps.PartKey(dumpPrefix, 0)
	e.Buckets.Lock(part, true)
	if result := e.remove(t, true); result.Reason != v1.ReasonInUse || result.Wait <= 0 {
		t.Errorf("a part that is held: %+v", result)
	}
	e.bucket = "else"
	if result := e.remove(t, true); result.Reason != v1.ReasonAccountNotReady || result.Wait <= 0 {
		t.Errorf("another bucket: %+v", result)
	}
	if _, there := e.Buckets.Content(part); !there {
		t.Error("it is gone")
	}
	e.bucket = "dumps"
	e.Buckets.Lock(part, false)
	for i := range 2 * eraseAtOnce {
		e.Buckets.Put(fmt.Sprintf("%s/left-%03d", dumpPrefix, i), bytes.Repeat([]byte("x"), i))
	}
	e.Clock.Step(2 * time.Hour)
	passes := 1
	for ; e.remove(t, true).Stops(); passes++ {
		if passes > 5 {
			t.Fatalf("left %v", e.Buckets.Keys())
		}
	}
	if passes != 3 || len(e.Buckets.Keys()) != 0 {
		t.Errorf("%d passes, left %v", passes, e.Buckets.Keys())
	}
}
