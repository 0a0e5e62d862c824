package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

// local is the member without a cloud.
const local = "local-1"

// dumped has the shop dumped in the member without a cloud: once well, and once in vain.
func (s *story) dumped(t *testing.T) {
	s.keepPodsWaiting(t)
	good, bad := s.dump(t, "dumped"), s.dump(t, "not-dumped")
	checksum := strings.Repeat("0f", 32)
	s.endPods(t, good, corev1.PodSucceeded, `{"file":"backup-20260302T020000Z.dump","bytes":1048576,"sha256":"`+checksum+
		`","engine":"postgresql","version":"13.4","cutTime":"2026-03-02T02:00:00Z","completionTime":"2026-03-02T02:01:00Z"}`+"\n")
	s.awaitCondition(t, good, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	got := good.Status
	want := v1.BackupStatus{
		Phase: v1.BackupCompleted, Engine: v1.EnginePostgreSQL, Version: "13.4", Size: "1Mi", Consistency: v1.ConsistencyApplication,
		Dump: &v1.DumpFile{Claim: "shop-database-backup", File: "backup-20260302T020000Z.dump", Bytes: 1 << 20, SHA256: checksum},
	}
	if diff := cmp.Diff(want, v1.BackupStatus{
		Phase: got.Phase, Engine: got.Engine, Version: got.Version, Size: got.Size, Consistency: got.Consistency, Dump: got.Dump,
	}); diff != "" || got.CutTime == nil || got.CutTime.UTC().Hour() != 2 {
		t.Errorf("cut at %v (-want +got):\n%s", got.CutTime, diff)
	}
	s.checkDumpJob(t, good)

	failed := s.awaitFailedDump(t, bad)
	for _, part := range []string{"BackoffLimitExceeded", "pg_dump: error: no route to host"} {
		if !strings.Contains(failed.Message, part) {
			t.Errorf("it says %q, want %q in it", failed.Message, part)
		}
	}
	s.remove(t, good)
	s.remove(t, bad)
	if job := s.jobOf(t, good); job == nil {
		t.Error("the Job in the member went with the Backup")
	}
	s.noDump(t)
}

// noDump asks for a dump where the CronJob is none of the copy's.
func (s *story) noDump(t *testing.T) {
	t.Helper()
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dump-in-a-cloud"},
		Spec:       v1.BackupSpec{AppName: shop, ClusterName: s.aws().member, Method: v1.BackupDump},
	}
	s.create(t, b)
	s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonCronJobNotFound)
	if b.Status.Phase != v1.BackupFailed {
		t.Errorf("the backup is %s, want Failed", b.Status.Phase)
	}
	s.remove(t, b)
}

// keepPodsWaiting keeps pods of Jobs from running to their end by themselves.
func (s *story) keepPodsWaiting(t *testing.T) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := s.members[local].List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		edit(t, s.members[local], node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		t.Cleanup(func() {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":null}}`))
			if err := s.members[local].Patch(context.WithoutCancel(t.Context()), node, patch); err != nil {
				t.Error(err)
			}
		})
	}
}

// dump asks for a dump, and waits for its Job.
func (s *story) dump(t *testing.T, name string) *v1.Backup {
	t.Helper()
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.BackupSpec{AppName: shop, ClusterName: local, Method: v1.BackupDump},
	}
	s.create(t, b)
	s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDumping)
	return b
}

// jobOf returns the Job of a Backup, or nil.
func (s *story) jobOf(t *testing.T, b *v1.Backup) *batchv1.Job {
	t.Helper()
	jobs := &batchv1.JobList{}
	if err := s.members[local].List(t.Context(), jobs, client.InNamespace(namespace), client.MatchingLabels{v1.BackupLabel: b.Name}); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) == 0 {
		return nil
	}
	return &jobs.Items[0]
}

// checkDumpJob sees that the Job is the CronJob's, but not bound to it.
func (s *story) checkDumpJob(t *testing.T, b *v1.Backup) {
	t.Helper()
	from := &batchv1.CronJob{}
	key := client.ObjectKey{Namespace: namespace, Name: render.DatabaseCronJob(shop)}
	if err := s.members[local].Get(t.Context(), key, from); err != nil {
		t.Fatal(err)
	}
	job := s.jobOf(t, b)
	if job == nil {
		t.Fatal("there is no Job")
	}
	template := from.Spec.JobTemplate.Spec.Template.Spec
	if diff := cmp.Diff(template, job.Spec.Template.Spec); diff != "" {
		t.Errorf("the pods differ from the CronJob's (-want +got):\n%s", diff)
	}
	if len(job.OwnerReferences) != 1 || job.OwnerReferences[0].Kind != "EcommerceApp" || *job.Spec.TTLSecondsAfterFinished != 3600 {
		t.Errorf("the Job belongs to %v and stays for %d s", job.OwnerReferences, *job.Spec.TTLSecondsAfterFinished)
	}
}

// endPods ends a pod of a dump's Job, as the kubelet would.
func (s *story) endPods(t *testing.T, b *v1.Backup, phase corev1.PodPhase, message string) {
	t.Helper()
	eventually(t, "a pod of "+b.Name, func(ctx context.Context) error {
		n, err := s.endPodsNow(ctx, b, phase, message)
		if err == nil && n == 0 {
			err = errors.New("there is none")
		}
		return err
	})
}

// endPodsNow ends the pods of a dump's Job that have not ended, and counts them.
func (s *story) endPodsNow(ctx context.Context, b *v1.Backup, phase corev1.PodPhase, message string) (int, error) {
	pods, ended := &corev1.PodList{}, 0
	selector := client.MatchingLabels{"job-name": render.DatabaseCronJob(shop) + "-" + manifest.Hash(string(b.UID))}
	if err := s.members[local].List(ctx, pods, client.InNamespace(namespace), selector); err != nil {
		return 0, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodPending {
			continue
		}
		before := pod.DeepCopy()
		exit := int32(0)
		if phase == corev1.PodFailed {
			exit = 1
		}
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, Message: message, FinishedAt: metav1.Now()},
		}}}
		if err := s.members[local].Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
			return ended, fmt.Errorf("ending pod %q: %w", pod.Name, err)
		}
		ended++
	}
	return ended, nil
}

// awaitFailedDump lets one pod of a Job fail after the other until nobody tries any more.
func (s *story) awaitFailedDump(t *testing.T, b *v1.Backup) metav1.Condition {
	t.Helper()
	eventually(t, b.Name+" to fail", func(ctx context.Context) error {
		if _, err := s.endPodsNow(ctx, b, corev1.PodFailed, "pg_dump: error:\n\tno route to host"); err != nil {
			return err
		}
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Phase != v1.BackupFailed {
			return fmt.Errorf("%s: %w", b.Status.Message, errors.New("it goes on"))
		}
		return nil
	})
	return s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDumpFailed)
}
