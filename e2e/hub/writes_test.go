package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// longestHold is the time that the first status of an application waits for its copies.
const longestHold = time.Second

// testCreation counts every write that it takes to bring a shop up in three clusters.
func (s *suite) testCreation(t *testing.T) {
	before := s.Mark(t)
	framework.CreateNamespace(t, s.Hub, s.shop.Namespace)
	if err := s.Fleet.Hub().Apply(t.Context(), samples.EcommerceApp()); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)

	// A status that competes with what the scheduler of backups writes there is refused, and repeated.
	log := s.Since(t, before, s.Fleet.Hub()).Of("ecommerceapps").Writes().Succeeded()
	var status, other int
	var finalizer, first audit.Event
	for _, e := range log {
		if e.Subresource == "status" {
			if status++; status == 1 {
				first = e
			}
		} else {
			finalizer, other = e, other+1
		}
	}
	t.Logf("hub: %d status writes, %d other", status, other)
	// The inventory, Creating and Running.
	const limit = 3
	if status > limit || other != 1 {
		t.Errorf("hub wrote %d times to the status, want at most %d, and %d times to the object, want once (the finalizer):\n%s",
			status, limit, other, log)
	}
	for _, name := range memberNames() {
		s.countMemberWrites(t, before, name)
		s.countMemberRequests(t, before, name)
		copied := s.Since(t, before, s.Fleet.Member(name)).Of("ecommerceapps").Writes()[0]
		if copied.Received.Before(finalizer.Completed) {
			t.Errorf("%s got the copy before the application had its finalizer:\n%s\n%s", name, copied, finalizer)
		}
		if first.Received.Before(copied.Completed) && first.Received.Sub(finalizer.Completed) < longestHold {
			t.Errorf("the status was written while %s got the copy, with which it competes:\n%s\n%s", name, first, copied)
		}
	}
	s.awaitEvent(t, v1.ReasonPlaced, "Placed on "+strings.Join(slices.Sorted(slices.Values(memberNames())), ", "))
	// What is written for each cluster, or each shop and cluster, is written in the clusters.
	if events := before.By(t, s.Fleet.Hub(), config.HubServiceAccount).In(s.shop.Namespace).Of("events").Writes(); len(events) > 2 {
		t.Errorf("hub recorded %d events, want where the shop is placed and that it runs:\n%s", len(events), events)
	}
}

// awaitEvent waits until people can read what became of the shop.
func (s *suite) awaitEvent(t *testing.T, reason, note string) {
	t.Helper()
	framework.Eventually(t, "the event "+note, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := s.Hub.List(ctx, events, client.InNamespace(s.shop.Namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Name == s.shop.Name && e.Reason == reason && e.Message == note {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
}

// countMemberRequests compares all requests for the shop in a member with what its creation costs.
func (s *suite) countMemberRequests(t *testing.T, before framework.Marks, name string) {
	t.Helper()
	log := s.Since(t, before, s.Fleet.Member(name)).About(s.shop.Namespace)
	statuses := log.Where(func(e audit.Event) bool { return e.Subresource == "status" })
	if len(statuses) == 0 {
		t.Fatalf("%s: no status was written", name)
	}
	took := statuses[len(statuses)-1].Received.Sub(statuses[0].Received)
	// Pods that are not ready are listed after 30 s, which are 3 s here: they are not part of a creation.
	lists := log.Of("pods").Verb("list")
	if most := int((took + time.Second) / (3 * time.Second)); len(lists) > most {
		t.Errorf("%s: pods were listed %d times in %s, want at most %d:\n%s", name, len(lists), took, most, lists)
	}
	events := log.Of("events").Verb("list")
	if len(events) > len(lists) {
		t.Errorf("%s: events were listed %d times, want once with each list of pods:\n%s", name, len(events), events)
	}
	log = log.Where(func(e audit.Event) bool { return e.Verb != "list" || e.Resource != "pods" && e.Resource != "events" })
	got := log.ByVerb()
	t.Logf("%s: requests in %s: %v", name, took, got)
	// Database, backend, frontend, ingress and monitoring.
	const components = 5
	for verb, most := range map[string]int{
		// What was created of each component, and that no user can log in.
		"create events → 201": components + 1,
		// The first, one when each component becomes ready, with the last of which the copy is Running, and
		// mere progress, for which two seconds pass: those of the machine. Times are in whole seconds.
		"patch status": 1 + components + int((took+time.Second)/(2*time.Second)),
	} {
		if got[verb] > most {
			t.Errorf("%s: %d × %s, want at most %d:\n%s", name, got[verb], verb, most, log)
		}
		delete(got, verb)
	}
	// The namespace; the copy and 34 children, each once and without a conflict, and the mark that the database
	// was created. Nothing is read: what was created a moment ago is expected in the cache.
	if diff := cmp.Diff(map[string]int{"create → 201": 1, "patch → 201": 35, "patch": 1}, got); diff != "" {
		t.Errorf("%s: other requests for the shop (-want +got):\n%s\n%s", name, diff, log)
	}
}

// countMemberWrites checks that each object was written once at most, status aside.
func (s *suite) countMemberWrites(t *testing.T, before framework.Marks, name string) {
	t.Helper()
	log := s.Since(t, before, s.Fleet.Member(name))
	counts := map[string]int{}
	statuses := 0
	for _, e := range log {
		switch {
		case !e.Write(), e.Resource == "events":
		case e.Subresource == "status":
			statuses++
		default:
			counts[e.Resource+" "+e.Namespace+"/"+e.Name]++
		}
	}
	// The mark of the database says no, and then that it was created.
	mark := "secrets " + s.shop.Namespace + "/" + s.shop.Name + "-database-created"
	counts[mark] = max(counts[mark]-1, 0)
	for object, n := range counts {
		if n > 1 {
			t.Errorf("%s: %s was written %d times, want once", name, object, n)
		}
	}
	copied := "ecommerceapps " + s.shop.Namespace + "/" + s.shop.Name
	if counts[copied] != 1 {
		t.Errorf("%s: the copy was written %d times, want once:\n%s", name, counts[copied], log.Writes())
	}
	t.Logf("%s: %d objects, %d writes of the copy's status", name, len(counts), statuses)
}
