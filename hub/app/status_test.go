package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// TestDelay checks that a status that takes a deletion back is stored at once, as a queue has the order to delete the
// copy.
func TestDelay(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	of := func(phase v1.Phase) v1.EcommerceAppStatus {
		return v1.EcommerceAppStatus{LastUpdated: new(metav1.NewTime(c.Now())), Clusters: []v1.ClusterStatus{{Name: "a", Phase: phase}, {Name: "b", Phase: v1.PhaseRunning}}}
	}
	for name, tt := range map[string]struct {
		last, next v1.EcommerceAppStatus
		atOnce     bool
	}{
		"the deletion is taken back": {of(v1.PhaseDeleting), of(v1.PhaseRunning), true},
		"the deletion goes on":       {of(v1.PhaseDeleting), of(v1.PhaseDeleting), false},
		"the copy is gone":           {of(v1.PhaseDeleting), v1.EcommerceAppStatus{}, false},
		"a deletion begins":          {of(v1.PhaseRunning), of(v1.PhaseDeleting), false},
		"nothing is deleted":         {of(v1.PhaseCreating), of(v1.PhaseRunning), false},
	} {
		r := &Reconciler{clock: c, state: state.New(c), progress: retry.NewProgress(progressPeriod)}
		app := shop(1)
		app.Status = tt.last
		r.state.StatusWritten(keyOf(app))
		if rest := r.delay(app, tt.next, false); (rest == 0) != tt.atOnce {
			t.Errorf("%s: waits for %s", name, rest)
		}
	}
}

// TestProgressAfterRestart checks that a process that has written no status counts the last one of an earlier process.
func TestProgressAfterRestart(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{clock: c, state: state.New(c), progress: retry.NewProgress(progressPeriod)}
	app := shop(1)
	for _, tt := range []struct {
		ago, want time.Duration
	}{{2 * time.Second, 3 * time.Second}, {time.Minute, 0}, {-time.Hour, 0}} {
		app.Status.LastUpdated = new(metav1.NewTime(c.Now().Add(-tt.ago)))
		next := app.Status
		next.Ready = "1/2"
		if rest := r.delay(app, next, false); rest != tt.want {
			t.Errorf("%s after the last status it waits for %s, want %s", tt.ago, rest, tt.want)
		}
	}
}

// TestProgressOfMany checks that the statuses of many applications wait for each other, but one that
// orders wait for waits for its own period only.
func TestProgressOfMany(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{clock: c, state: state.New(c), progress: retry.NewProgress(progressPeriod)}
	app := shop(1)
	app.Status.LastUpdated = new(metav1.NewTime(c.Now().Add(-2 * progressPeriod)))
	next := app.Status
	next.Ready = "1/2"
	for range 5 {
		if rest := r.delay(app, next, false); rest != 0 {
			t.Errorf("one of five waits for %s", rest)
		}
	}
	if rest := r.delay(app, next, false); rest != 4*progressPeriod {
		t.Errorf("the sixth waits for %s", rest)
	}
	if rest := r.delay(app, next, true); rest != 0 {
		t.Errorf("a status that orders wait for waits for %s", rest)
	}
	c.SetTime(c.Now().Add(-progressPeriod - time.Second)) // The last status was written four seconds ago.
	if rest := r.delay(app, next, true); rest != time.Second {
		t.Errorf("four seconds after the last one it waits for %s", rest)
	}
}

// TestLeftBehindOnce checks that one event says that a rollout leaves a cluster behind: not again while the status says so,
// also to a process that has just started, but for the next revision, and after the cluster had its turn.
func TestLeftBehindOnce(t *testing.T) {
	t.Parallel()
	leaves := func(revision int64, names ...string) v1.EcommerceAppStatus {
		return v1.EcommerceAppStatus{
			Rollout:  &v1.RolloutStatus{Revision: revision, State: v1.RolloutComplete, LeftBehind: names},
			Clusters: []v1.ClusterStatus{{Name: "a", Reason: v1.ReasonUpgradeRefused, Message: "no 9"}, {Name: "b", Reason: v1.ReasonCrashLoopBackOff, Message: "exit code 1"}},
		}
	}
	templates := leaves(1)
	templates.Rollout, templates.Rendering = nil, &v1.RolloutStatus{Revision: 4, State: v1.RolloutComplete, LeftBehind: []string{"b"}}
	for name, tt := range map[string]struct {
		last, next v1.EcommerceAppStatus
		want       []string
	}{
		"it is left behind":        {leaves(2), leaves(2, "a"), []string{"Revision 2: a is left behind: UpgradeRefused: no 9"}},
		"so is another one":        {leaves(2, "a"), leaves(2, "a", "b"), []string{"Revision 2: b is left behind: CrashLoopBackOff: exit code 1"}},
		"the status says so":       {leaves(2, "a", "b"), leaves(2, "a", "b"), nil},
		"it has its turn":          {leaves(2, "a"), leaves(2), nil},
		"by the next revision":     {leaves(2, "a"), leaves(3, "a"), []string{"Revision 3: a is left behind: UpgradeRefused: no 9"}},
		"by the first one":         {v1.EcommerceAppStatus{}, leaves(1, "a"), []string{"Revision 1: a is left behind: UpgradeRefused: no 9"}},
		"by a version":             {leaves(1), templates, []string{"Pod templates 4: b is left behind: CrashLoopBackOff: exit code 1"}},
		"the rollout is taken out": {leaves(2, "a"), v1.EcommerceAppStatus{}, nil},
	} {
		recorder := events.NewFakeRecorder(10)
		app := shop(1)
		app.Status = tt.next
		(&Reconciler{recorder: recorder}).recordEvents(app, aggregate.Input{}, tt.last)
		var got []string
		for len(recorder.Events) > 0 {
			if _, text, is := strings.Cut(<-recorder.Events, "RolloutLeftBehind "); is {
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}
