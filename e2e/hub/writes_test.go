package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

	log := s.Since(t, before, s.Fleet.Hub()).Of("ecommerceapps").Writes()
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

// countMemberWrites checks that each object was written once at most, status aside, and that
// none was read before.
func (s *suite) countMemberWrites(t *testing.T, before framework.Marks, name string) {
	t.Helper()
	log := s.Since(t, before, s.Fleet.Member(name)).Writes()
	counts := map[string]int{}
	statuses := 0
	for _, e := range log {
		switch {
		case e.Resource == "events":
		case e.Subresource == "status":
			statuses++
		default:
			counts[e.Resource+" "+e.Namespace+"/"+e.Name]++
		}
	}
	for object, n := range counts {
		if n > 1 {
			t.Errorf("%s: %s was written %d times, want once", name, object, n)
		}
	}
	if reads := s.Since(t, before, s.Fleet.Member(name)).In(s.shop.Namespace).Verb("get"); len(reads) > 0 {
		t.Errorf("%s: %d objects were read, want none:\n%s", name, len(reads), reads)
	}
	copied := "ecommerceapps " + s.shop.Namespace + "/" + s.shop.Name
	if counts[copied] != 1 {
		t.Errorf("%s: the copy was written %d times, want once:\n%s", name, counts[copied], log)
	}
	t.Logf("%s: %d objects, %d writes of the copy's status", name, len(counts), statuses)
}
