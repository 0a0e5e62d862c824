package reconciler

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestEscalate checks that a lasting failure of the API server waits for a user after some minutes, for each
// component separately, and goes on waiting for one in a process that starts.
func TestEscalate(t *testing.T) {
	t.Parallel()
	kind := Kind[*v1.EcommerceApp]{Status: func(app *v1.EcommerceApp) Status { return Status{Conditions: &app.Status.Conditions} }}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", UID: "1", Generation: 2}}
	r := newReconciler(kind, &Member{})
	start := time.Unix(10000, 0)
	var retryIn time.Duration
	blocks := func(r *reconciler[*v1.EcommerceApp], after time.Duration, components ...string) map[string]bool {
		p := &pass[*v1.EcommerceApp]{object: app}
		for _, name := range components {
			p.problems = append(p.problems, component.Problem{Component: name, Reason: v1.ReasonApplyFailed, Message: "repair it", Lasting: true})
		}
		p.problems = append(p.problems, component.Problem{Reason: v1.ReasonApplyFailed, Message: "throttled"})
		r.escalate(p, start.Add(after))
		retryIn = p.retryIn
		got := map[string]bool{}
		for _, problem := range p.problems {
			if problem.Blocking {
				got[problem.Component] = true
			}
		}
		return got
	}
	expect := func(what string, got map[string]bool, want ...string) {
		t.Helper()
		same := len(got) == len(want)
		for _, name := range want {
			same = same && got[name]
		}
		if !same {
			t.Errorf("%s: %v wait for a user, want %v", what, got, want)
		}
	}
	expect("first", blocks(r, 0, "backend"))
	for after, want := range map[time.Duration]time.Duration{0: time.Second, 20 * time.Second: 20 * time.Second, 2 * time.Minute: time.Minute} {
		if blocks(r, after, "backend"); retryIn != want {
			t.Errorf("after %s it is tried again in %s, want %s", after, retryIn, want)
		}
	}
	expect("later", blocks(r, 2*time.Minute, "backend", "frontend"))
	expect("after 3 minutes", blocks(r, 3*time.Minute, "backend", "frontend"), "backend")
	expect("both", blocks(r, 5*time.Minute, "backend", "frontend"), "backend", "frontend")
	expect("one has passed", blocks(r, 6*time.Minute, "frontend"), "frontend")
	expect("it fails again", blocks(r, 7*time.Minute, "backend"))
	app.Generation = 3
	expect("another spec", blocks(r, 20*time.Minute, "backend"))
	app.Status.Conditions = []metav1.Condition{{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, ObservedGeneration: 3, Reason: v1.ReasonApplyFailed, Message: "backend: repair it"}}
	expect("another process", blocks(newReconciler(kind, &Member{}), 0, "backend", "frontend"), "backend")
	app.Generation = 4
	expect("another process and spec", blocks(newReconciler(kind, &Member{}), 0, "backend"))
}
