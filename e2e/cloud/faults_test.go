package cloud_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testLostResponse loses the answers to requests that were heard.
func (s *suite) testLostResponse(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		p.script.Add(
			faults.Fault{Op: faults.OpCreateSnapshot, Kind: faults.DropAfter},
			faults.Fault{Op: faults.OpCopySnapshot, Kind: faults.DropAfter},
		)
		b := s.backup(t, p, "lost", p.other)
		want := 2
		if p.name == v1.ProviderGCP {
			want = 1 // In another place, and none beside it.
		}
		if found := s.awaitBackup(t, p, b); len(found) != want {
			t.Errorf("%d snapshots were made, want %d: %v", len(found), want, found)
		}
		p.script.Clear()
	})
}

// testThrottling lets the providers ask to wait, for as long as it takes people to see it.
func (s *suite) testThrottling(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		p.script.Add(faults.Fault{Op: faults.OpCreateSnapshot, Times: -1, Kind: faults.Refuse, Answer: p.throttled})
		b := s.backup(t, p, "throttled")
		s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonThrottled)
		if len(p.truth(b.Name)) > 0 {
			t.Error("a snapshot was made all the same")
		}
		p.script.Clear()
		if found := s.awaitBackup(t, p, b); len(found) != 1 {
			t.Errorf("%d snapshots were made, want one: %v", len(found), found)
		}
	})
}

// testFailedSnapshot lets snapshots fail after they were accepted.
func (s *suite) testFailedSnapshot(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		const tries = 3 // A scheduled snapshot may come first, and fail in its place.
		for try := 1; ; try++ {
			p.cloud.FailNext("an internal error has occurred")
			b := s.backup(t, p, "failing")
			s.awaitBackup(t, p, b)
			switch got := b.Status.Snapshots[0].Attempt; {
			case got == 1:
				return
			case try == tries:
				t.Fatalf("the attempt is %d, want 1", got)
			}
			s.discard(t, b)
		}
	})
}

// testRestart ends the hub while snapshots are made.
func (s *suite) testRestart(t *testing.T) {
	t.Helper()
	backups, before := map[string]*v1.Backup{}, map[string]int{}
	for _, p := range s.providers {
		p.cloud.SetPace(fake.Pace{Taken: time.Hour, Ready: 2 * time.Hour})
		b := s.backup(t, p, "interrupted")
		backups[p.account()] = b
		framework.Await(t, s.Hub, b, b.Name+" to be under way", func(*v1.Backup) error {
			if len(b.Status.Snapshots) == 0 || b.Status.Snapshots[0].ID == "" {
				return errors.New("no snapshot is known yet")
			}
			return nil
		})
	}
	s.StopHub()
	for _, p := range s.providers {
		if before[p.account()] = p.requested(backups[p.account()]); before[p.account()] == 0 {
			t.Errorf("%s: no request for a snapshot names its Backup", p.account())
		}
	}
	s.StartHub(t)
	for _, p := range s.providers {
		p.cloud.SetPace(fake.Pace{})
	}
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		if found := s.awaitBackup(t, p, backups[p.account()]); len(found) != 1 {
			t.Errorf("%d snapshots were made, want one: %v", len(found), found)
		}
		if n := p.requested(backups[p.account()]) - before[p.account()]; n != 0 {
			t.Errorf("a snapshot that is under way was asked for %d times more", n)
		}
	})
}

// requested returns how often snapshots for a Backup were asked for, and not those that are scheduled meanwhile.
func (p *provider) requested(b *v1.Backup) int {
	n := 0
	for _, call := range p.script.Calls() {
		if call.Op == faults.OpCreateSnapshot && strings.Contains(call.Request, b.Name) {
			n++
		}
	}
	return n
}

// testDeletion deletes backups, one of them after its snapshot lost its tags.
func (s *suite) testDeletion(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		for _, name := range []string{"lost", "throttled", "failing"} {
			b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + p.account()}}
			s.discard(t, b)
			if left := p.truth(b.Name); len(left) > 0 {
				t.Errorf("%s left snapshots: %v", b.Name, left)
			}
		}
		stripped := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "interrupted-" + p.account()}}
		if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(stripped), stripped); err != nil {
			t.Fatal(err)
		}
		id := p.truth(stripped.Name)[0].ID
		p.cloud.EditSnapshot(id, func(snapshot *fake.Snapshot) {
			delete(snapshot.Tags, cloud.TagHub)
			delete(snapshot.Tags, cloud.TagApp)
		})
		s.discard(t, stripped)
		s.awaitEvent(t, stripped, v1.ReasonSnapshotForeign)
		if _, there := p.cloud.Snapshot(id); !there {
			t.Error("a snapshot without an owner was deleted")
		}
	})
}
