package cloud_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// interrupted is the work of a hub that the next one, in safe mode, finds.
type interrupted struct {
	// expired is a Backup that is deleted with its data, half one that is not copied yet, and fresh
	// one that is not begun.
	expired, half, fresh *v1.Backup
	// restore has had a volume made, and is deleted.
	restore *v1.Restore
	// changes is how many the provider was asked for before.
	changes int
}

var errNoVolume = errors.New("the cloud has no volume yet")

// testSafeMode restarts the hub in safe mode while work is under way, and counts what it asks the
// clouds for that changes something.
func (s *suite) testSafeMode(t *testing.T) {
	t.Helper()
	all := map[*provider]*interrupted{}
	for _, p := range s.providers {
		all[p] = s.interrupt(t, p)
	}
	s.StopHub()
	for _, p := range s.providers {
		p.script.Clear()
		p.cloud.SetPace(fake.Pace{})
		for _, o := range []client.Object{all[p].expired, all[p].restore} {
			if err := s.Hub.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		all[p].fresh, all[p].changes = s.backup(t, p, "safe-fresh"), p.changes()
	}
	s.safeMode = true
	s.StartHub(t)
	s.each(t, func(t *testing.T, p *provider) { t.Helper(); s.checkSafe(t, p, all[p]) })
	s.StopHub()
	s.safeMode = false
	s.StartHub(t)
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		s.kubelets[p.member].hold(jobs.ImportContainer, false)
		framework.AwaitGone(t, s.Hub, all[p].expired)
		framework.AwaitGone(t, s.Hub, all[p].restore)
		for _, b := range []*v1.Backup{all[p].half, all[p].fresh} {
			s.awaitBackup(t, p, b)
			s.discard(t, b)
		}
	})
}

// interrupt starts what the hub will not finish.
func (s *suite) interrupt(t *testing.T, p *provider) *interrupted {
	t.Helper()
	i := &interrupted{expired: s.backup(t, p, "safe-expired")}
	s.awaitBackup(t, p, i.expired)
	framework.Edit(t, s.Hub, i.expired, func(b *v1.Backup) { b.Spec.Deletion = v1.DeletionDelete })
	// It is asked seldom: a request that the end of the hub interrupts may have been served, and a
	// Backup waits for what comes of it.
	answer := p.throttled
	answer.Header = answer.Header.Clone()
	if answer.Header == nil {
		answer.Header = http.Header{}
	}
	answer.Header.Set("Retry-After", "3600")
	p.script.Add(faults.Fault{Op: faults.OpCopySnapshot, Times: -1, Kind: faults.Refuse, Answer: answer})
	i.half = s.backup(t, p, "safe-half", p.other)
	if p.name == v1.ProviderGCP { // It makes no copies.
		s.awaitBackup(t, p, i.half)
	} else {
		s.awaitCondition(t, i.half, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonThrottled)
	}
	volumes := len(p.cloud.Volumes())
	s.kubelets[p.member].hold(jobs.ImportContainer, true)
	i.restore = s.restore(t, "safe-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "plain-" + p.account()}, Overwrite: true})
	framework.Await(t, s.Hub, i.restore, "a volume to be made", func(r *v1.Restore) error {
		if len(p.cloud.Volumes()) == volumes {
			return fmt.Errorf("%w: %s", errNoVolume, r.Status.Message)
		}
		return nil
	})
	return i
}

// checkSafe checks that the hub waits for the end of its safe mode, and changes nothing.
func (s *suite) checkSafe(t *testing.T, p *provider, i *interrupted) {
	t.Helper()
	s.awaitCondition(t, i.fresh, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPaused)
	if p.name != v1.ProviderGCP {
		s.awaitCondition(t, i.half, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPaused)
	}
	waits := func(message string) error {
		if !strings.Contains(message, "safe mode") {
			return fmt.Errorf("its message is %q", message)
		}
		return nil
	}
	framework.Await(t, s.Hub, i.expired, "its deletion to wait", func(b *v1.Backup) error { return waits(b.Status.Message) })
	framework.Await(t, s.Hub, i.restore, "the deletion of the Restore to wait", func(r *v1.Restore) error { return waits(r.Status.Message) })
	if n := p.changes() - i.changes; n > 0 {
		t.Errorf("%d changes were requested in safe mode", n)
	}
	if len(p.truth(i.expired.Name)) != 1 || len(p.truth(i.fresh.Name)) != 0 {
		t.Errorf("snapshots in the cloud: %v of %s, %v of %s", p.truth(i.expired.Name), i.expired.Name, p.truth(i.fresh.Name), i.fresh.Name)
	}
}
