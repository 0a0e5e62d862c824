package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// restore makes a Restore by hand.
func (s *stage) restore(t *testing.T, name string, spec v1.RestoreSpec) *v1.Restore {
	t.Helper()
	r := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	s.create(t, r)
	return r
}

// unrestorable asks for what cannot be.
func (s *story) unrestorable(t *testing.T) {
	const plain = "plain-aws"
	for name, one := range map[string]struct {
		spec   v1.RestoreSpec
		reason string
	}{
		"no-such-backup":   {v1.RestoreSpec{BackupName: "nothing"}, v1.ReasonBackupNotFound},
		"no-overwrite":     {v1.RestoreSpec{BackupName: plain}, v1.ReasonVolumeInUse},
		"another-provider": {v1.RestoreSpec{BackupName: plain, ClusterName: "gcp-eu", Overwrite: true}, v1.ReasonProviderMismatch},
		"no-copy-there":    {v1.RestoreSpec{BackupName: plain, ClusterName: second}, v1.ReasonSnapshotMissing},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.restore(t, name, one.spec)
			c := s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionFalse, one.reason)
			if r.Status.Phase != v1.RestoreFailed {
				t.Errorf("the restore is %s, want Failed: %s", r.Status.Phase, c.Message)
			}
			s.remove(t, r)
		})
	}
}

// restored puts yesterday's data in the place of today's.
func (s *story) restored(t *testing.T) {
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		old := s.claim(t, p.member)
		backup := &v1.Backup{}
		if err := s.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "plain-" + p.account()}, backup); err != nil {
			t.Fatal(err)
		}
		r := s.restore(t, "restored-"+p.account(), v1.RestoreSpec{BackupName: backup.Name, Overwrite: true})
		s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		claim := s.claim(t, p.member)
		pv := s.volume(t, p.member, claim.Spec.VolumeName)
		if claim.UID == old.UID || claim.Status.Phase != corev1.ClaimBound || pv.Name == old.Spec.VolumeName {
			t.Fatalf("the claim is %s of %s, want a new one bound to another volume than %s", claim.Status.Phase, pv.Name, old.Spec.VolumeName)
		}
		made, ok := p.world.Volume(pv.Spec.CSI.VolumeHandle)
		if !ok || made.From != backup.Status.Snapshots[0].ID {
			t.Errorf("the volume is made from %q, want %q", made.From, backup.Status.Snapshots[0].ID)
		}
		before := s.volume(t, p.member, old.Spec.VolumeName)
		if _, there := p.world.Volume(before.Spec.CSI.VolumeHandle); !there || before.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			t.Errorf("the volume that was replaced is there: %t, and to be: %s", there, before.Spec.PersistentVolumeReclaimPolicy)
		}
		s.checkPod(t, p.member)
	})
	s.awaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "westeurope")
}

// checkPod checks that the database in a member is ready.
func (s *story) checkPod(t *testing.T, member string) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := s.members[member].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: render.DatabasePod(shop)}, pod); err != nil {
		t.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return
		}
	}
	t.Errorf("the database in %s is not ready: %v", member, pod.Status.Conditions)
}

// moved brings the data to another region before the shop comes there.
func (s *story) moved(t *testing.T) {
	p := s.aws()
	r := s.restore(t, "moved", v1.RestoreSpec{BackupName: "copied-" + p.account(), ClusterName: second})
	s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	claim := s.claim(t, second)
	pv := s.volume(t, second, claim.Spec.VolumeName)
	made, ok := p.world.Volume(pv.Spec.CSI.VolumeHandle)
	if claim.Status.Phase != corev1.ClaimBound || !ok || made.Region != p.other {
		t.Fatalf("the claim is %s, its volume in %s", claim.Status.Phase, made.Region)
	}
	if err := gone(t.Context(), s.members[second], &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shop}}); err != nil {
		t.Fatal(err)
	}
	s.bringSecrets(t, p.member, second)
	edit(t, s.hub, s.app, func(app *v1.EcommerceApp) {
		app.Spec.Placement.ClusterNames = append(app.Spec.Placement.ClusterNames, second)
	})
	s.awaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "us-east-1", "westeurope")
	if after := s.claim(t, second); after.UID != claim.UID || after.Spec.VolumeName != pv.Name {
		t.Errorf("the shop uses the claim %s on %s, want the one that was restored, on %s", after.UID, after.Spec.VolumeName, pv.Name)
	}
	eventually(t, "the restored volume to be attached", func(context.Context) error {
		if made, _ := p.world.Volume(pv.Spec.CSI.VolumeHandle); !made.Attached {
			return fmt.Errorf("volume %s: %w", made.ID, errors.New("not attached"))
		}
		return nil
	})
	s.checkPod(t, second)
}

// bringSecrets gives a member the passwords that are in the data of another, as a person
// does: the hub carries none from one cluster to the next.
func (s *story) bringSecrets(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{shop + "-database-credentials", shop + "-database-system"} {
		there := &corev1.Secret{}
		if err := s.members[from].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, there); err != nil {
			t.Fatal(err)
		}
		labels := there.Labels
		delete(labels, v1.OwnerUIDLabel)
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: there.Data,
		}
		if err := s.members[to].Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
}
