package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/data/restore"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// restore makes a Restore by hand.
func (s *suite) restore(t *testing.T, name string, spec v1.RestoreSpec) *v1.Restore {
	t.Helper()
	r := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	s.Create(t, r)
	return r
}

// testImpossibleRestores asks for what cannot be.
func (s *suite) testImpossibleRestores(t *testing.T) {
	t.Helper()
	const plain = "plain-aws"
	for name, one := range map[string]struct {
		spec   v1.RestoreSpec
		reason string
	}{
		"no-such-backup":   {v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "nothing"}}, v1.ReasonBackupNotFound},
		"no-overwrite":     {v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: plain}}, v1.ReasonVolumeInUse},
		"another-provider": {v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: plain}, ClusterRef: v1.ObjectReference{Name: "gcp-eu"}, Overwrite: true}, v1.ReasonProviderMismatch},
		"no-copy-there":    {v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: plain}, ClusterRef: v1.ObjectReference{Name: second}}, v1.ReasonSnapshotMissing},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.restore(t, name, one.spec)
			c := s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionFalse, one.reason)
			if r.Status.Phase != v1.RestoreFailed {
				t.Errorf("the restore is %s, want Failed: %s", r.Status.Phase, c.Message)
			}
			s.Delete(t, r)
		})
	}
}

// testRestore puts yesterday's data in the place of today's.
func (s *suite) testRestore(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		old := s.claim(t, p.member)
		backup := &v1.Backup{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "plain-" + p.account()}, backup); err != nil {
			t.Fatal(err)
		}
		r := s.restore(t, "restored-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}, Overwrite: true})
		s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		claim := s.claim(t, p.member)
		pv := s.volume(t, p.member, claim.Spec.VolumeName)
		if claim.UID == old.UID || claim.Status.Phase != corev1.ClaimBound || pv.Name == old.Spec.VolumeName {
			t.Fatalf("the claim is %s of %s, want a new one bound to another volume than %s", claim.Status.Phase, pv.Name, old.Spec.VolumeName)
		}
		made, ok := p.cloud.Volume(pv.Spec.CSI.VolumeHandle)
		if !ok || made.From != backup.Status.Snapshots[0].ID {
			t.Errorf("the volume is made from %q, want %q", made.From, backup.Status.Snapshots[0].ID)
		}
		before := s.volume(t, p.member, old.Spec.VolumeName)
		if _, there := p.cloud.Volume(before.Spec.CSI.VolumeHandle); !there || before.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			t.Errorf("the volume that was replaced is there: %t, and to be: %s", there, before.Spec.PersistentVolumeReclaimPolicy)
		}
		s.checkPod(t, p.member)
	})
	s.AwaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "westeurope")
}

// testUndo puts back the volume that testRestore has replaced, after a user has confirmed it.
func (s *suite) testUndo(t *testing.T) {
	t.Helper()
	p := s.aws()
	r := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "restored-" + p.account()}}
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	hub, v := s.Fleet.Hub(), r.Status.Volumes[0]
	undo := func(more ...string) framework.Outcome {
		return framework.CLI(t, hub, append([]string{"restore", "undo", r.Name, "-n", namespace}, more...)...)
	}
	undo().Want(t, framework.Misused, "put back PersistentVolume "+v.Replaced+" as claim "+v.Claim, "in member "+p.member,
		"It loses what was written since: that stays in PersistentVolume "+v.PersistentVolume, "confirm it with --yes")
	for _, mode := range []string{"client", "server"} {
		undo("--dry-run="+mode).Want(t, framework.Done, "This would stop the database", "putting back (", "dry run)")
	}
	if claim := s.claim(t, p.member); claim.Spec.VolumeName != v.PersistentVolume {
		t.Fatalf("the claim is of %s before anything was confirmed", claim.Spec.VolumeName)
	}
	undo("--yes", "--wait=false").Want(t, framework.Done, r.Name+" putting back")
	undo().Want(t, framework.Done, "PutBack: the database runs on the volumes that it had before: "+v.Replaced)
	undo().Want(t, framework.Done, r.Name+" already put back")
	claim := s.claim(t, p.member)
	if claim.Spec.VolumeName != v.Replaced || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("the claim is %s of %s, want it bound to %s", claim.Status.Phase, claim.Spec.VolumeName, v.Replaced)
	}
	if pv := s.volume(t, p.member, v.PersistentVolume); pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("the restored volume is to be: %s", pv.Spec.PersistentVolumeReclaimPolicy)
	}
	s.checkPod(t, p.member)
}

// checkPod checks that the database in a member is ready.
func (s *suite) checkPod(t *testing.T, member string) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := s.Members[member].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: render.DatabasePod(shop)}, pod); err != nil {
		t.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return
		}
	}
	t.Errorf("the database in %s is not ready: %v", member, pod.Status.Conditions)
}

// testRestoreElsewhere brings the data to another region before the shop comes there.
func (s *suite) testRestoreElsewhere(t *testing.T) {
	t.Helper()
	p := s.aws()
	r := s.restore(t, "moved", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "copied-" + p.account()}, ClusterRef: v1.ObjectReference{Name: second}})
	s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	claim := s.claim(t, second)
	pv := s.volume(t, second, claim.Spec.VolumeName)
	made, ok := p.cloud.Volume(pv.Spec.CSI.VolumeHandle)
	if claim.Status.Phase != corev1.ClaimBound || !ok || made.Region != p.other {
		t.Fatalf("the claim is %s, its volume in %s", claim.Status.Phase, made.Region)
	}
	if err := framework.Gone(t.Context(), s.Members[second], &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shop}}); err != nil {
		t.Fatal(err)
	}
	framework.Edit(t, s.Hub, s.app, func(app *v1.EcommerceApp) {
		app.Spec.Placement.ClusterNames = append(app.Spec.Placement.ClusterNames, second)
	})
	s.AwaitRunning(t, s.app, "eu-west-1", "europe-west1", "local", "us-east-1", "westeurope")
	if after := s.claim(t, second); after.UID != claim.UID || after.Spec.VolumeName != pv.Name {
		t.Errorf("the shop uses the claim %s on %s, want the one that was restored, on %s", after.UID, after.Spec.VolumeName, pv.Name)
	}
	framework.Eventually(t, "the restored volume to be attached", func(context.Context) error {
		if made, _ := p.cloud.Volume(pv.Spec.CSI.VolumeHandle); !made.Attached {
			return fmt.Errorf("volume %s: %w", made.ID, errors.New("not attached"))
		}
		return nil
	})
	s.checkPod(t, second)
}

// testVerification restores the newest backup beside the database, and one from its copy, and leaves nothing of that behind.
func (s *suite) testVerification(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		before, err := s.unclaimed(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		r := s.restore(t, "proven-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "plain-" + p.account()}, Verify: true})
		s.awaitVerified(t, r, "Resolve", "Import", "Prove")
		s.checkVerificationNamespace(t, p.member)
		s.awaitUnclaimed(t, p, before)
		s.checkPod(t, p.member)
	})
	p := s.aws()
	r := s.restore(t, "proven-elsewhere", v1.RestoreSpec{
		BackupRef: v1.ObjectReference{Name: "copied-" + p.account()}, ClusterRef: v1.ObjectReference{Name: second}, Verify: true,
	})
	s.awaitVerified(t, r, "Resolve", "Import", "Prove")
	s.checkVerificationNamespace(t, second)
}

// awaitVerified waits until a backup was proven by these steps, and everything that took is gone.
func (s *suite) awaitVerified(t *testing.T, r *v1.Restore, steps ...string) {
	t.Helper()
	s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonVerified)
	framework.Await(t, s.Hub, r, "what was made to be taken away", func(*v1.Restore) error {
		if r.Status.Phase != v1.RestoreCompleted {
			return fmt.Errorf("%s: %w", r.Status.Phase, errors.New("not completed"))
		}
		return nil
	})
	checkSteps(t, r.Status.Steps, steps...)
	backup := &v1.Backup{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: r.Spec.BackupRef.Name}, backup); err != nil {
		t.Fatal(err)
	}
	in := r.Spec.ClusterRef.Name
	if in == "" {
		in = backup.Spec.ClusterRef.Name
	}
	if v := backup.Status.Verified; backup.Status.LastVerifiedTime == nil || v == nil || v.From.Cluster != in || v.From.Region == "" {
		t.Errorf("the backup was verified at %s: %+v, want in %s", backup.Status.LastVerifiedTime, v, in)
	}
}

// unclaimed returns the volumes of a cloud that no application's claim has: those of
// verifications, and those that nothing in a member refers to.
func (s *suite) unclaimed(ctx context.Context, p *provider) ([]string, error) {
	claimed := map[string]bool{}
	for _, member := range s.Members {
		list := &corev1.PersistentVolumeList{}
		if err := member.List(ctx, list); err != nil {
			return nil, err
		}
		for _, pv := range list.Items {
			if claim := pv.Spec.ClaimRef; pv.Spec.CSI != nil && claim != nil && claim.Namespace != restore.VerificationNamespace {
				claimed[pv.Spec.CSI.VolumeHandle] = true
			}
		}
	}
	var ids []string
	for _, v := range p.cloud.Volumes() {
		if !claimed[v.ID] {
			ids = append(ids, v.ID)
		}
	}
	return ids, nil
}

// awaitUnclaimed waits until there are no unclaimed volumes but those before. The driver
// deletes a volume after its claim, and creates one before it has a PersistentVolume.
func (s *suite) awaitUnclaimed(t *testing.T, p *provider, before []string) {
	t.Helper()
	framework.Eventually(t, "the volume of the verification to be deleted", func(ctx context.Context) error {
		left, err := s.unclaimed(ctx, p)
		if err != nil {
			return err
		}
		if left = slices.DeleteFunc(left, func(id string) bool { return slices.Contains(before, id) }); len(left) > 0 {
			return fmt.Errorf("unclaimed are %q", left)
		}
		return nil
	})
}

// checkVerificationNamespace checks that nothing is left of what proves backups.
func (s *suite) checkVerificationNamespace(t *testing.T, member string) {
	t.Helper()
	for _, list := range append(movers(), &appsv1.StatefulSetList{}, &batchv1.JobList{}) {
		if err := s.Members[member].List(t.Context(), list, client.InNamespace(restore.VerificationNamespace)); err != nil {
			t.Fatal(err)
		}
		if left := namesOf(list); len(left) > 0 {
			t.Errorf("%T: %v are left", list, left)
		}
	}
}

// movers returns lists of the objects that transfer data and are deleted afterwards.
func movers() []client.ObjectList {
	return []client.ObjectList{&corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}}
}

// namesOf returns the names of a list's objects.
func namesOf(list client.ObjectList) []string {
	var names []string
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if named, ok := o.(client.Object); ok {
			names = append(names, named.GetName())
		}
		return nil
	})
	return names
}

// loseAndRediscover deletes a Backup on the hub alone and has the hub look for it.
func (s *suite) loseAndRediscover(t *testing.T, p *provider, name, at string) (lost, found *v1.Backup) {
	t.Helper()
	lost, found = &v1.Backup{}, &v1.Backup{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := s.Hub.Get(t.Context(), key, lost); err != nil {
		t.Fatal(err)
	}
	s.Delete(t, lost.DeepCopy())
	account := s.rediscover(t, p, at)
	if err := s.Hub.Get(t.Context(), key, found); err != nil {
		t.Fatalf("%v; the hub says: %s", err, account.Status.Rediscovered)
	}
	return lost, found
}

// testRediscovery loses a Backup on the hub alone, and finds it in the cloud.
func (s *suite) testRediscovery(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		lost, found := s.loseAndRediscover(t, p, "plain-"+p.account(), "now")
		ids := func(b *v1.Backup) []string {
			var out []string
			for _, snapshot := range b.Status.Snapshots {
				out = append(out, snapshot.Claim+" "+snapshot.ID)
			}
			return out
		}
		if found.Spec.Deletion != v1.DeletionRetain {
			t.Error("a rediscovered Backup is to be deleted with its data")
		}
		if diff := cmp.Diff(ids(lost), ids(found)); diff != "" || found.Status.Phase != v1.BackupCompleted || found.UID == lost.UID {
			t.Errorf("found as %s (-lost +found):\n%s", found.Status.Phase, diff)
		}
	})
}

// rediscover asks the hub to look through an account, and waits for its answer.
func (s *suite) rediscover(t *testing.T, p *provider, at string) *v1.CloudAccount {
	t.Helper()
	account := &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: p.account()}}
	framework.Edit(t, s.Hub, account, func(a *v1.CloudAccount) {
		if a.Annotations == nil {
			a.Annotations = map[string]string{}
		}
		a.Annotations[v1.RediscoverAtAnnotation] = at
	})
	framework.Await(t, s.Hub, account, "the hub to answer", func(*v1.CloudAccount) error {
		if account.Status.LastHandledRediscoverAt != at {
			return errors.New("not answered")
		}
		return nil
	})
	return account
}
