package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testLateEvents holds all events while an application is created, those of the hub's own
// writes included (F4).
func (s *suite) testLateEvents(t *testing.T) {
	t.Helper()
	s.awaitLong(t)
	marked := s.Mark(t)
	app := framework.Small(namespace, "late")
	s.deleteAfter(t, app)
	s.Create(t, app)
	s.awaitUnaffected(t, app) // The hub knows of the application.
	var injected []*faults.Fault
	for _, cluster := range []string{hub, eu, us} {
		injected = append(injected, s.inject(t, cluster, faults.Match{Verbs: []string{"watch"}, UserAgent: agent}, faults.Hold()))
	}
	s.scale(t, app, 2)
	awaitFired(t, injected[0], 1)
	framework.Pause(t, shortWait)
	for _, f := range injected {
		f.Remove()
	}
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
	// The hub goes on from the responses to its own writes.
	for _, c := range s.Fleet.Clusters() {
		if lost := s.Since(t, marked, c).In(namespace).Code(http.StatusConflict); len(lost) > lateConflicts {
			t.Errorf("%s: %d conflicts, as if the hub had forgotten what it wrote:\n%s", c.Name(), len(lost), lost)
		}
	}
}

// lateConflicts is how many writes may conflict in a member: with those of Kubernetes, which the
// hub does not see.
const lateConflicts = 6

// testLostEvents loses the events of an application that comes and goes on the hub, and of a
// child that is deleted in a member: the hub lists again and sees neither (F6). Client-go lists, and
// events of other children wake the hub as well: this guards no single line.
func (s *suite) testLostEvents(t *testing.T) {
	t.Helper()
	s.awaitLong(t)
	app := s.newApp(t, "lost-events")
	onHub := s.inject(t, hub, faults.Match{Resource: "ecommerceapps"}, faults.Hold())
	inMember := s.inject(t, eu, faults.Match{Resource: "deployments"}, faults.Hold())

	brief := framework.Small(namespace, "brief")
	s.Create(t, brief)
	s.Delete(t, brief) // The hub has not seen it, so that it has no finalizer.
	frontend := s.deleteFrontend(t, app)
	awaitFired(t, onHub, 1)
	awaitFired(t, inMember, 1)
	onHub.Expire()
	inMember.Expire()

	s.awaitAnother(t, frontend)
	s.scale(t, app, 2)
	s.awaitRunning(t, app)
	for name, m := range s.Members {
		if err := framework.Gone(t.Context(), m, brief.DeepCopy()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// deleteFrontend deletes the Deployment of an application in one member, and returns it.
func (s *suite) deleteFrontend(t *testing.T, app *v1.EcommerceApp) *appsv1.Deployment {
	t.Helper()
	frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app.Name + "-frontend"}}
	if err := s.Members[eu].Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil {
		t.Fatal(err)
	}
	if err := s.Members[eu].Delete(t.Context(), frontend.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return frontend
}

// awaitAnother waits until a deleted Deployment exists again.
func (s *suite) awaitAnother(t *testing.T, deleted *appsv1.Deployment) {
	t.Helper()
	framework.Await(t, s.Members[eu], deleted.DeepCopy(), "the child to be made again", func(d *appsv1.Deployment) error {
		if d.UID == deleted.UID {
			return errors.New("the old one is there")
		}
		return nil
	})
}

// testSilentWatch loses the deletion of a child in a watch whose stream stays open and
// silent from then on. Without an end of the stream, nothing would repair the child until
// the API server ends the watch, in half an hour or more (F7).
func (s *suite) testSilentWatch(t *testing.T) {
	t.Helper()
	s.silence, s.longest = 2*time.Second, 0
	s.RestartHub(t)
	app := s.newApp(t, "silent")
	swallowed := s.inject(t, eu, faults.Match{Verbs: []string{"watch"}, Resource: "deployments", UserAgent: agent}, faults.Swallow())
	frontend := s.deleteFrontend(t, app)
	awaitFired(t, swallowed, 1)
	swallowed.Remove()
	s.awaitAnother(t, frontend)
	s.awaitRunning(t, app)

	// The hub's own watch.
	swallowed = s.inject(t, hub, faults.Match{Verbs: []string{"watch"}, Resource: "ecommerceapps", UserAgent: agent}, faults.Swallow())
	s.scale(t, app, 2)
	awaitFired(t, swallowed, 1)
	swallowed.Remove()
	s.awaitRunning(t, app)
}

// testRefusedWatches makes a member answer all lists and watches of the copies with errors once the
// watch has ended, as if the key of one were lost. Probes and all other requests succeed (F21).
func (s *suite) testRefusedWatches(t *testing.T) {
	t.Helper()
	s.silence, s.unwatched, s.longest = 2*time.Second, shortWait, shortWait
	s.RestartHub(t)
	app := s.newApp(t, "refused-watches")
	marked := s.Mark(t)
	m := faults.Match{Verbs: []string{"list", "watch"}, Resource: "ecommerceapps", UserAgent: agent}
	f := s.inject(t, eu, m, faults.Answer(http.StatusInternalServerError, 0))
	ready := framework.AwaitCondition(t, s.Hub, member(eu), metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonSetupFailed,
	})
	if !strings.Contains(ready.Message, "ecommerceapps.ecommerce.io (500 Internal Server Error)") {
		t.Errorf("the kind and the error are not named: %s", ready.Message)
	}
	s.AwaitApp(t, app, "the entry to be stale", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, eu); !c.Stale || c.Phase != v1.PhaseUnknown {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	f.Remove()
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
}

// testExpiry ends all watches with 410, as after a compaction (F8). Client-go lists again: this
// guards no line of the hub, but how many lists that costs.
func (s *suite) testExpiry(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "expiry")
	marked := s.Mark(t)
	injected, before := map[string]*faults.Fault{}, map[string]int{}
	hold := func(replicas int32, clusters ...string) {
		t.Helper()
		for _, cluster := range clusters {
			before[cluster] = len(listed(s.proxies[cluster].Requests()))
			injected[cluster] = s.inject(t, cluster, faults.Match{Verbs: []string{"watch"}, UserAgent: agent}, faults.Hold())
		}
		s.scale(t, app, replicas)
		for _, cluster := range clusters {
			awaitFired(t, injected[cluster], 1)
		}
	}
	// In this order, because a hub that sees no events changes nothing in members.
	hold(2, eu, us)
	hold(3, hub)
	for _, f := range injected {
		f.Expire()
	}
	s.awaitRunning(t, app)
	for cluster, earlier := range before {
		log := s.proxies[cluster].Requests()
		open := map[string]bool{}
		for _, e := range log.ByAgent(agent).Verb("watch") {
			open[e.Resource] = true
		}
		// Some kinds are watched by more than one selection.
		if n, most := len(listed(log))-earlier, 3*len(open); n > most {
			t.Errorf("%s: %d lists for the watches of %d kinds", cluster, n, len(open))
		}
	}
	s.wantNoDeletes(t, marked, hub, eu, us)
}

// listed returns the hub's reads of whole collections.
func listed(log audit.Log) audit.Log {
	return log.ByAgent(agent).Where(func(e audit.Event) bool { return e.Verb == "list" || e.InitialEvents() })
}

// testOlderList restarts the hub in front of an API server that lags: the first lists
// are from before one application was deleted and another was created (F5).
func (s *suite) testOlderList(t *testing.T) {
	t.Helper()
	deleted := s.newApp(t, "deleted")
	older, err := s.proxies[hub].Snapshot(t.Context(), faults.Match{Resource: "ecommerceapps"})
	if err != nil {
		t.Fatal(err)
	}
	s.Delete(t, deleted)
	kept := s.newApp(t, "kept")
	s.StopHub()
	marked := s.Mark(t)
	list := s.inject(t, hub, faults.Match{Resource: "ecommerceapps", Verbs: []string{"list", "watch"}}, faults.ServeSnapshot(older))
	events := s.inject(t, hub, faults.Match{Resource: "ecommerceapps", Verbs: []string{"watch"}}, faults.Hold())
	s.StartHub(t)
	awaitFired(t, list, 2)
	s.AwaitMembers(t, eu, us)
	// The hub may now do what the past asks for.
	framework.Pause(t, 2*time.Second)
	events.Remove()
	s.scale(t, kept, 2)
	s.awaitRunning(t, kept)
	s.wantNoDeletes(t, marked, hub, eu, us)
	for name, m := range s.Members {
		if err := framework.Gone(t.Context(), m, deleted.DeepCopy()); err != nil {
			t.Errorf("%s: deleted on the hub, and created again: %v", name, err)
		}
	}
	list.Remove()
}

// awaitUnaffected waits until us, which has no fault, has the edit of an application.
func (s *suite) awaitUnaffected(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	frontend := &appsv1.Deployment{}
	framework.Eventually(t, "the edit to reach "+us, func(ctx context.Context) error {
		key := client.ObjectKey{Namespace: namespace, Name: app.Name + "-frontend"}
		if err := s.Members[us].Get(ctx, key, frontend); err != nil {
			return err
		}
		if want := app.Spec.Frontend.Replicas; want != nil && *frontend.Spec.Replicas != *want {
			return fmt.Errorf("%d replicas", *frontend.Spec.Replicas)
		}
		return nil
	})
}
