package hub_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	asia = "southeastasia"
	eu   = "eu-west-1"
	us   = "us-central1"
)

// story is what the chapters share: the stage, and the seed's shop on it.
type story struct {
	*stage
	shop *v1.EcommerceApp
	// patient waits for the end of a namespace; see blocked.
	patient *v1.EcommerceApp
}

func TestHub(t *testing.T) {
	s := &story{shop: seed(t), stage: newStage(t,
		fleet.ClusterSpec{Name: "asia-1", Provider: fleet.Azure, Region: asia, Nodes: 2},
		fleet.ClusterSpec{Name: "eu-1", Provider: fleet.AWS, Region: eu, Nodes: 2},
		fleet.ClusterSpec{Name: "us-1", Provider: fleet.GCP, Region: us, Nodes: 2},
	)}
	s.start(t)
	for _, name := range memberNames() {
		s.register(t, name)
	}
	s.awaitMembers(t, memberNames()...)
	// Each chapter builds on those before it.
	_ = t.Run("the seed's shop runs in three regions", s.created) &&
		t.Run("nothing is written while nothing changes", s.unchanged) &&
		t.Run("an edit reaches every member", s.edited) &&
		t.Run("copies are defended", s.defended) &&
		t.Run("a status that is wiped is computed again", s.unforgettable) &&
		t.Run("annotations are answered", s.commanded) &&
		t.Run("a change of placement moves the shop", s.moved) &&
		t.Run("an application of the same name is a conflict", s.contested) &&
		t.Run("a namespace that is being deleted is waited for", s.blocked) &&
		t.Run("members that do not answer are Unknown and come back", s.lost) &&
		t.Run("a namespace that is gone is made again", s.unblocked) &&
		t.Run("a member that left the fleet is left alone", s.detached) &&
		t.Run("deletion goes in order and waits for who is away", s.deleted)
}

func (s *stage) mark(t *testing.T) framework.Marks {
	t.Helper()
	return framework.Mark(t, s.fleet)
}

// since returns what the hub asked of a cluster since a mark.
func (s *stage) since(t *testing.T, m framework.Marks, c *fleet.Cluster) audit.Log {
	t.Helper()
	return m.Since(t, c).ByServiceAccount(config.Namespace, config.HubServiceAccount)
}

// created counts every write that it takes to bring a shop up in three clusters.
func (s *story) created(t *testing.T) {
	before, began := s.mark(t), time.Now()
	s.namespace(t, s.shop.Namespace)
	if err := s.fleet.Hub().Apply(t.Context(), samples.EcommerceApp()); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, s.shop, eu, asia, us)

	log := s.since(t, before, s.fleet.Hub()).Of("ecommerceapps").Writes()
	var status, other int
	for _, e := range log {
		if e.Subresource == "status" {
			status++
		} else {
			other++
		}
	}
	t.Logf("hub: %d status writes, %d other", status, other)
	// The inventory, Creating and Running. On a slow machine there is progress to write as
	// well, every five seconds.
	limit := 3 + int(time.Since(began)/(5*time.Second))
	if status > limit || other != 1 {
		t.Errorf("hub wrote %d times to the status, want at most %d, and %d times to the object, want once (the finalizer):\n%s",
			status, limit, other, log)
	}
	for _, name := range memberNames() {
		s.countMemberWrites(t, before, name)
		s.awaitEvent(t, "CopyCreated", "Created the copy in "+name)
	}
}

// awaitEvent waits until people can read what became of the shop.
func (s *story) awaitEvent(t *testing.T, reason, note string) {
	t.Helper()
	eventually(t, "the event "+note, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := s.hub.List(ctx, events, client.InNamespace(s.shop.Namespace)); err != nil {
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

// countMemberWrites checks that each object was written once at most, status aside.
func (s *story) countMemberWrites(t *testing.T, before framework.Marks, name string) {
	t.Helper()
	log := s.since(t, before, s.fleet.Member(name)).Writes()
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
	copied := "ecommerceapps " + s.shop.Namespace + "/" + s.shop.Name
	if counts[copied] != 1 {
		t.Errorf("%s: the copy was written %d times, want once:\n%s", name, counts[copied], log)
	}
	t.Logf("%s: %d objects, %d writes of the copy's status", name, len(counts), statuses)
}
