package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// backup makes a Backup of the shop by hand.
func (s *suite) backup(t *testing.T, p *provider, name string, copyTo ...string) *v1.Backup {
	t.Helper()
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + p.account()},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: shop}, ClusterRef: v1.ObjectReference{Name: p.member}, CopyToRegions: copyTo},
	}
	s.Create(t, b)
	return b
}

// awaitBackup waits until a Backup is complete, and returns its snapshots in the cloud:
// the one of the volume first, and then its copies.
func (s *suite) awaitBackup(t *testing.T, p *provider, b *v1.Backup) []fake.Snapshot {
	t.Helper()
	s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	found := p.truth(b.Name)
	if len(b.Status.Snapshots) != 1 || len(found) == 0 || b.Status.Phase != v1.BackupCompleted {
		t.Fatalf("the backup is %s with %d snapshots in its status and %d in the cloud", b.Status.Phase, len(b.Status.Snapshots), len(found))
	}
	checkSteps(t, b.Status.Steps, "Begin", "Snapshot", "Copy", "Seal")
	slices.SortStableFunc(found, func(a, _ fake.Snapshot) int {
		if a.ID == b.Status.Snapshots[0].ID {
			return -1
		}
		return 0
	})
	return found
}

// checkSteps checks that these steps are recorded, and that each of them is complete.
func checkSteps(t *testing.T, recorded []v1.StepStatus, want ...string) {
	t.Helper()
	var complete []string
	for _, s := range recorded {
		if s.EndTime != nil {
			complete = append(complete, s.Name)
		}
	}
	if diff := cmp.Diff(want, complete); diff != "" {
		t.Errorf("steps that are complete (-want +got):\n%s", diff)
	}
}

// testBackups makes backups on demand, one of them with copies.
func (s *suite) testBackups(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		p.cloud.SetPace(fake.Pace{})
		plain, copied := s.backup(t, p, "plain"), s.backup(t, p, "copied", p.other)
		found := s.awaitBackup(t, p, plain)
		if len(found) != 1 {
			t.Fatalf("%d snapshots were made, want one: %v", len(found), found)
		}
		s.checkTags(t, p, plain, found[0])
		st := &plain.Status
		if st.SnapshotTime == nil || st.StartTime == nil || st.CompletionTime == nil || st.Size != storage || st.Region != p.region || st.Provider != p.name {
			t.Errorf("the status is not complete: %+v", st)
		}
		found = s.awaitBackup(t, p, copied)
		if p.name == v1.ProviderGCP {
			if len(found) != 1 || !slices.Contains(found[0].Locations, p.other) {
				t.Errorf("the snapshot is in %v, want one in %s: %v", found[0].Locations, p.other, found)
			}
			return
		}
		s.awaitCondition(t, copied, v1.ConditionCopied, metav1.ConditionTrue, v1.ReasonCompleted)
		if len(found) != 2 || found[1].Region != p.other || tagOf(found[1], cloud.TagCopyOf) != found[0].ID {
			t.Errorf("%d snapshots, want one and its copy in %s: %v", len(found), p.other, found)
		}
		s.checkTags(t, p, copied, found[1])
	})
}

// checkTags checks that a snapshot can be found again without its Backup.
func (s *suite) checkTags(t *testing.T, p *provider, b *v1.Backup, made fake.Snapshot) {
	t.Helper()
	handle := s.volume(t, p.member, s.claim(t, p.member).Spec.VolumeName).Spec.CSI.VolumeHandle
	if !made.IsCopy && made.Source != handle {
		t.Errorf("the snapshot is of %q, want %q", made.Source, handle)
	}
	for key, want := range map[string]string{
		cloud.TagApp: string(s.app.UID), cloud.TagAppName: shop, cloud.TagNamespace: namespace, cloud.TagCluster: p.member,
		cloud.TagBackup: b.Name, cloud.TagClaim: b.Status.Snapshots[0].Claim, cloud.TagEngine: "postgresql", cloud.TagVersion: "13.4", cloud.TagOf: "1",
	} {
		if got := tagOf(made, key); got != want {
			t.Errorf("the tag %s is %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{cloud.TagHub, cloud.TagName, cloud.TagScheduledTime, cloud.TagVolume} {
		if tagOf(made, key) == "" {
			t.Errorf("there is no tag %s", key)
		}
	}
}

// testImpossibleBackups asks for what cannot be.
func (s *suite) testImpossibleBackups(t *testing.T) {
	t.Helper()
	p := s.aws()
	for name, one := range map[string]struct {
		spec   v1.BackupSpec
		reason string
	}{
		"no-such-app":     {v1.BackupSpec{AppRef: v1.ObjectReference{Name: "unknown"}, ClusterRef: v1.ObjectReference{Name: p.member}}, v1.ReasonApplicationNotFound},
		"no-such-cluster": {v1.BackupSpec{AppRef: v1.ObjectReference{Name: shop}, ClusterRef: v1.ObjectReference{Name: "nowhere"}}, v1.ReasonClusterDetached},
		"no-snapshots":    {v1.BackupSpec{AppRef: v1.ObjectReference{Name: shop}, ClusterRef: v1.ObjectReference{Name: "local-1"}}, v1.ReasonCloudRefused},
		"no-claim":        {v1.BackupSpec{AppRef: v1.ObjectReference{Name: shop}, ClusterRef: v1.ObjectReference{Name: second}}, v1.ReasonClaimNotFound},
		"no-such-region":  {v1.BackupSpec{AppRef: v1.ObjectReference{Name: shop}, ClusterRef: v1.ObjectReference{Name: p.member}, CopyToRegions: []string{"eu-central-1"}}, v1.ReasonPartiallyCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			if len(one.spec.CopyToRegions) > 0 {
				account := &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: p.account()}}
				framework.Edit(t, s.Hub, account, func(a *v1.CloudAccount) { a.Spec.Regions = []string{p.region, p.other} })
				s.awaitObserved(t, account)
			}
			b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: one.spec}
			s.Create(t, b)
			want, status := v1.BackupFailed, metav1.ConditionFalse
			if one.reason == v1.ReasonPartiallyCompleted {
				want, status = v1.BackupPartiallyCompleted, metav1.ConditionTrue // The snapshot is good; only its copy is not made.
			}
			c := s.awaitCondition(t, b, v1.ConditionReady, status, one.reason)
			if b.Status.Phase != want {
				t.Errorf("the backup is %s, want %s: %s", b.Status.Phase, want, c.Message)
			}
			s.discard(t, b)
			if left := p.truth(name); len(left) > 0 {
				t.Errorf("it left snapshots: %v", left)
			}
		})
	}
}

// testScheduled places a shop that is backed up every minute, where that can be and where
// it cannot. The minute is over when testScheduledBackups runs.
func (s *suite) testScheduled(t *testing.T) {
	t.Helper()
	s.often = newShop("often", second, "gcp-eu")
	s.often.Spec.Database.Backup.Schedule = "* * * * *"
	s.often.Spec.Database.Backup.CopyToRegions = nil
	s.daybook = newBooks(daybook, "* * * * *", s.aws().member)
	s.Create(t, s.often)
	s.Create(t, s.daybook)
	s.AwaitRunning(t, s.often, "europe-west1", "us-east-1")
	s.AwaitRunning(t, s.daybook, "eu-west-1")
}

// awaitScheduled waits until a Backup with the labels is complete, and returns all that are.
func (s *suite) awaitScheduled(t *testing.T, labels client.MatchingLabels) (made []v1.Backup) {
	t.Helper()
	framework.Eventually(t, "a scheduled Backup to be complete", func(ctx context.Context) error {
		list := &v1.BackupList{}
		if err := s.Hub.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
			return err
		}
		made = slices.DeleteFunc(list.Items, func(b v1.Backup) bool { return b.Status.Phase != v1.BackupCompleted })
		if len(made) == 0 {
			return fmt.Errorf("%d backups, none complete", len(list.Items))
		}
		return nil
	})
	return made
}

// testScheduledBackups looks at what the schedule made.
func (s *suite) testScheduledBackups(t *testing.T) {
	t.Helper()
	made := s.awaitScheduled(t, client.MatchingLabels{v1.InstanceLabel: "often", v1.ClusterLabel: second})
	for _, b := range made {
		if want := schedule.BackupName("often", second, b.Spec.ScheduledTime.Time); b.Name != want || len(s.aws().truth(b.Name)) != 1 {
			t.Errorf("the backup of scheduledTime %s is %s, want %s with one snapshot", b.Spec.ScheduledTime, b.Name, want)
		}
	}
	framework.Await(t, s.Hub, s.often, "the application to say how it is backed up", func(*v1.EcommerceApp) error {
		return standing(&s.often.Status)
	})
	framework.Edit(t, s.Hub, s.often, func(app *v1.EcommerceApp) { app.Spec.Database.Backup.Enabled = false })
	framework.Await(t, s.Hub, s.often, "the application to say nothing of backups", func(*v1.EcommerceApp) error {
		if c := framework.Condition(s.often.Status.Conditions, v1.ConditionBackupReady); c.Type != "" || len(s.often.Status.Backups) > 0 {
			return fmt.Errorf("%s: %v", c.Reason, s.often.Status.Backups)
		}
		return nil
	})
}

// standing checks what a status says of backups that one cluster gets and the other,
// whose provider takes none each minute, does not.
func standing(status *v1.EcommerceAppStatus) error {
	c := framework.Condition(status.Conditions, v1.ConditionBackupReady)
	if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "gcp-eu: spec.database.backup.schedule") || strings.Contains(c.Message, second) {
		return fmt.Errorf("%s because of %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, entry := range status.Backups {
		if entry.Name == second && entry.LastScheduledTime != nil && entry.LastBackupTime != nil && entry.NextBackupTime != nil {
			return nil
		}
	}
	return errors.New("status.backups lacks the cluster")
}

// testNamespaceDeletion deletes the namespace with all Backups in it.
func (s *suite) testNamespaceDeletion(t *testing.T) {
	t.Helper()
	before := s.stored()
	if len(before) == 0 {
		t.Fatal("there is nothing in the clouds to keep")
	}
	s.Delete(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if diff := cmp.Diff(before, s.stored()); diff != "" {
		t.Errorf("in the clouds (-before +after):\n%s", diff)
	}
}

// stored lists the snapshots and the objects in buckets of all clouds.
func (s *suite) stored() []string {
	var all []string
	for _, p := range s.providers {
		for _, snapshot := range p.cloud.Snapshots() {
			all = append(all, p.account()+" "+snapshot.Region+" "+snapshot.ID)
		}
		for _, key := range p.bucket.Keys() {
			all = append(all, p.account()+" "+key)
		}
	}
	slices.Sort(all)
	return all
}

// testAudit deletes the snapshot of a complete Backup in the cloud.
func (s *suite) testAudit(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		b := s.backup(t, p, "audited")
		found := s.awaitBackup(t, p, b)
		p.cloud.RemoveSnapshot(found[0].ID)
		s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSnapshotMissing)
		if b.Status.Phase != v1.BackupCompleted {
			t.Errorf("the backup is %s", b.Status.Phase)
		}
		s.discard(t, b)
	})
}
