package apply_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
)

// rival is a client that changes what an Applier wrote, under its own field manager.
type rival struct {
	*server
	t       *testing.T
	clock   *clocktesting.FakeClock
	applier *apply.Applier
	intent  *corev1.ConfigMap
}

func newRival(t *testing.T, s *server, name string) *rival {
	t.Helper()
	r := &rival{server: s, t: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), intent: configMap()}
	r.applier = apply.New(apply.Options{Client: s, Reader: s, FieldManager: "test", Clock: r.clock})
	r.intent.Name = name
	do(t, r.applier, apply.Request{Intent: r.intent, Owned: labelled}, apply.Created)
	return r
}

// set sets a key of the ConfigMap and applies the intent over it.
func (r *rival) set(key, value string) (apply.Result, error) {
	r.t.Helper()
	live := get(r.t, r.server, r.intent)
	live.Data[key] = value
	if err := r.Update(r.t.Context(), live, client.FieldOwner("gitops")); err != nil {
		r.t.Fatal(err)
	}
	live.ManagedFields = nil // As in the cache.
	return r.applier.Apply(r.t.Context(), apply.Request{Intent: r.intent, Live: live, Owned: labelled})
}

// fight sets x until the Applier leaves it, and returns how often it was repaired.
func (r *rival) fight() (int, *apply.ContendedError) {
	r.t.Helper()
	for n := range 100 {
		r.clock.Step(time.Second)
		_, err := r.set("x", fmt.Sprint("theirs ", n))
		if contended, ok := errors.AsType[*apply.ContendedError](err); ok {
			return n, contended
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Fatal("x was repaired without end")
	return 0, nil
}

// repaired sets a key, of which the Applier must not take the value.
func (r *rival) repaired(key string) {
	r.t.Helper()
	result, err := r.set(key, "edited")
	if err != nil || result.Outcome != apply.Updated {
		r.t.Errorf("%s: %q, %v, want a repair", key, result.Outcome, err)
	}
}

// testContended changes a field again after each repair.
func testContended(s *server) func(*testing.T) {
	return func(t *testing.T) {
		r := newRival(t, s, "contended")
		repairs, contended := r.fight()
		if repairs < 5 || repairs > 20 {
			t.Errorf("%d repairs", repairs)
		}
		if diff := cmp.Diff([]string{"data.x"}, contended.Fields); diff != "" || contended.Manager != "gitops" {
			t.Errorf("%q changes, want gitops (-want +got):\n%s", contended.Manager, diff)
		}
		if message := contended.Error(); !strings.Contains(message, `"gitops"`) || !strings.Contains(message, `data.x of ConfigMap "contended"`) {
			t.Errorf("message %q", message)
		}
		r.repaired("y")
		if n, _ := r.fight(); n != 0 {
			t.Errorf("%d repairs after that of another field", n)
		}
		r.clock.Step(contended.RetryIn)
		if n, _ := r.fight(); n != 1 {
			t.Errorf("%d repairs when the time is over, want 1", n)
		}
		// Another intent is not a repair.
		r.intent.Data["x"] = "changed"
		r.repaired("x")
		if repairs, _ := r.fight(); repairs < 4 {
			t.Errorf("%d repairs of a new intent", repairs)
		}
		r.clock.Step(time.Hour)
		if repairs, _ := r.fight(); repairs < 5 {
			t.Errorf("%d repairs an hour later", repairs)
		}
	}
}
