package restore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// TestLoadedFromTheClaim goes the whole way: nothing is loaded while anything uses the
// database, and nothing is left.
func TestLoadedFromTheClaim(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	placed := s.objects["v1.EcommerceApp shop"]
	delete(s.objects, "v1.EcommerceApp shop")
	s.until(t, v1.ReasonNoDatabase)
	if s.did != nil || s.restore.Status.Dump != nil {
		t.Fatalf("before the shop is placed it did %s", s.did)
	}
	s.put(placed)
	app := placed.(*v1.EcommerceApp)
	app.Status.Components = []v1.ComponentStatus{{Name: "database", Replicas: 1}, {Name: "backend", Replicas: 2}, {Name: "ingress", Replicas: 2}}
	s.pods = append(s.pods, pod("shop-backend-x", map[string]string{v1.ComponentLabel: "backend"}))
	// The login before the shop does not use the database.
	s.pods = append(s.pods, pod("shop-oauth2-proxy-x", map[string]string{v1.ComponentLabel: "ingress"}))
	s.until(t, v1.ReasonStoppingApplication)
	if diff := cmp.Diff([]string{"save", "loading is monday"}, s.did); diff != "" {
		t.Fatalf("it did (-want +got):\n%s", diff)
	}
	stopping := func(what string) {
		t.Helper()
		if v, err := s.shop().advance(t.Context()); v.Reason != v1.ReasonStoppingApplication || err != nil {
			t.Errorf("%s: %+v, %v", what, v, err)
		}
	}
	stopping("two pods are wanted")
	s.objects["v1.EcommerceApp shop"].(*v1.EcommerceApp).Status.Components[1].Replicas = 0
	stopping("a pod runs")
	s.pods[1].Status.Phase = corev1.PodSucceeded
	s.pods[0].Status.Conditions[0].Status = corev1.ConditionFalse
	s.until(t, v1.ReasonStartingDatabase)
	s.pods[0].Status.Conditions[0].Status = corev1.ConditionTrue
	s.until(t, v1.ReasonLoading)
	job := s.job(t)
	if s.saved.Dump.Job != job.Name || !s.saved.Dump.Started || s.saved.Dump.From != v1.DumpFromClaim {
		t.Errorf("saved was %+v, before the Job %s was made", s.saved.Dump, job.Name)
	}
	if job.Spec.Template.Spec.InitContainers != nil || job.OwnerReferences[0].UID != "copy-1" || job.Labels[v1.RestoreLabel] != "monday" {
		t.Errorf("the Job is %+v", job)
	}
	s.until(t, v1.ReasonLoading)
	s.ends(t, jobs.LoadContainer, 0)
	s.until(t, "")
	want := []string{"save", "loading is monday", "save", "create v1.Job " + job.Name, "loading is ", "delete v1.Job " + job.Name}
	if diff := cmp.Diff(want, s.did); diff != "" {
		t.Errorf("it did (-want +got):\n%s", diff)
	}
}

// TestLoadedFromTheBucket: in another cluster, and with an order that nobody else is told.
func TestLoadedFromTheBucket(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.cluster = "us-1"
	s.backup.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}
	s.until(t, v1.ReasonLoading)
	job := s.job(t)
	secret := s.objects["v1.Secret "+job.Name].(*corev1.Secret)
	o, err := order.Read(secret.Data[order.FileName])
	if err != nil || o.Direction != order.Fetch || len(o.Parts) != 1 || string(o.CABundle) != "ca" {
		t.Errorf("the order is %+v, %v", o, err)
	}
	claim := s.restore.Status.Dump.Claim
	if job.Spec.Template.Spec.InitContainers[0].Image != "spoke:1" || s.objects["v1.PersistentVolumeClaim "+claim] == nil || claim == s.backup.Status.Dump.Claim {
		t.Errorf("the Job is %+v, its claim %q", job.Spec.Template.Spec, claim)
	}
	// The requests expire: another attempt, with another order, to the same claim.
	s.ends(t, jobs.FetchContainer, order.ExitRefused)
	s.until(t, v1.ReasonRetrying)
	if s.objects["v1.Secret "+job.Name] != nil {
		t.Error("an order that was carried out is still there")
	}
	s.until(t, v1.ReasonLoading)
	if again := s.job(t); again.Name == job.Name || s.restore.Status.Dump.Attempt != 1 || s.restore.Status.Dump.Claim != claim {
		t.Errorf("the second attempt is %s: %+v", again.Name, s.restore.Status.Dump)
	}
	s.ends(t, jobs.LoadContainer, 0)
	s.until(t, "")
	for key := range s.objects {
		if strings.Contains(key, "-restore-") {
			t.Errorf("%s is left", key)
		}
	}
}

// TestPruned: a file that its claim does not have any more comes from the bucket.
func TestPruned(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.backup.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}
	s.until(t, v1.ReasonLoading)
	s.ends(t, jobs.LoadContainer, jobs.ExitMissing)
	s.until(t, v1.ReasonRetrying)
	s.until(t, v1.ReasonLoading)
	if d := s.restore.Status.Dump; d.From != v1.DumpFromBucket || s.job(t).Spec.Template.Spec.InitContainers == nil {
		t.Errorf("it is read from %s", d.From)
	}
}

// TestOneJob: a hub that died, or that reads what was, makes no second Job.
func TestOneJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conflict = errors.New("somebody else wrote")
	if _, err := s.shop().advance(t.Context()); !errors.Is(err, s.conflict) || s.did != nil {
		t.Fatalf("of an old status: %v, and it did %s", err, s.did)
	}
	s.conflict = nil
	s.until(t, v1.ReasonStoppingApplication)
	s.refuses["v1.Job"] = errors.New("connection lost")
	s.until(t, v1.ReasonClusterUnreachable)
	before := s.saved.Dump.DeepCopy()
	delete(s.refuses, "v1.Job")
	// A hub that starts anew has what was saved.
	s.saved.DeepCopyInto(&s.restore.Status)
	s.until(t, v1.ReasonLoading)
	if diff := cmp.Diff(before, s.restore.Status.Dump); diff != "" || s.job(t).Name != before.Job {
		t.Errorf("another attempt (-before +after):\n%s", diff)
	}
	// One that reads what was before, and the Job is gone: it must not get that far.
	s.ends(t, jobs.LoadContainer, 1)
	s.until(t, v1.ReasonRetrying)
	old := s.restore.Status.Dump
	s.restore.Status.Dump, s.conflict = before, errors.New("somebody else wrote")
	delete(s.objects, "v1.Job "+before.Job)
	if _, err := s.shop().advance(t.Context()); !errors.Is(err, s.conflict) {
		t.Errorf("an old hub: %v", err)
	}
	s.restore.Status.Dump, s.conflict = old, nil
	// A pod of the last attempt that may still be at work is waited for.
	late := pod("late", map[string]string{v1.RestoreLabel: "monday", v1.ComponentLabel: "database-backup"})
	s.pods = append(s.pods, late)
	did := slices.Clone(s.did)
	if v, err := s.shop().advance(t.Context()); v.Reason != v1.ReasonLoading || err != nil || !slices.Equal(did, s.did) {
		t.Errorf("%+v, %v, and it did %s", v, err, s.did[len(did):])
	}
}

// TestUndo: what uses the database starts again when no Job is at work, and not before.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.cluster = "us-1"
	s.backup.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}
	s.until(t, v1.ReasonLoading)
	job := s.job(t)
	at := pod("load-x", job.Spec.Template.Labels)
	s.pods = append(s.pods, at)
	s.did = nil
	for range 3 {
		if v := s.shop().undo(t.Context()); v.Reason != v1.ReasonDeleting || v.Fatal {
			t.Fatalf("while a pod is at work: %+v", v)
		}
	}
	if diff := cmp.Diff([]string{"delete v1.Job " + job.Name, "delete v1.Secret " + job.Name}, s.did); diff != "" {
		t.Errorf("while a pod is at work it did (-want +got):\n%s", diff)
	}
	s.pods, s.did = s.pods[:len(s.pods)-1], nil
	for range 4 {
		if v := s.shop().undo(t.Context()); !v.Stops() {
			break
		}
	}
	want := []string{"loading is ", "delete v1.PersistentVolumeClaim " + s.restore.Status.Dump.Claim}
	if diff := cmp.Diff(want, s.did); diff != "" {
		t.Errorf("then it did (-want +got):\n%s", diff)
	}
	// Of one that never began, in a member without the shop, there is nothing to undo.
	s = newStage(t)
	delete(s.objects, "v1.EcommerceApp shop")
	if v := s.shop().undo(t.Context()); v.Stops() || s.did != nil {
		t.Errorf("%+v, and it did %s", v, s.did)
	}
}

// TestRefusals: what cannot be is said before anything is stopped.
func TestRefusals(t *testing.T) {
	t.Parallel()
	elsewhere := func(s *stage) {
		s.cluster = "us-1"
		s.backup.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}
	}
	tests := map[string]struct {
		change func(*stage)
		reason string
		fatal  bool
	}{
		"another engine":   {func(s *stage) { s.backup.Status.Engine = v1.EngineMySQL }, v1.ReasonEngineMismatch, true},
		"an older version": {func(s *stage) { s.backup.Status.Version = "16.1" }, v1.ReasonEngineMismatch, true},
		"in no bucket":     {func(s *stage) { s.cluster = "us-1" }, v1.ReasonDumpMissing, true},
		"no image":         {func(s *stage) { elsewhere(s); s.image = "" }, v1.ReasonDumpMissing, true},
		"another bucket":   {func(s *stage) { elsewhere(s); s.bucket.name = "others" }, v1.ReasonDumpMissing, true},
		"no manifest":      {func(s *stage) { elsewhere(s); s.backup.Status.Dump.Object.Prefix = "elsewhere" }, v1.ReasonDumpMissing, true},
		"no true manifest": {func(s *stage) { elsewhere(s); s.bucket.manifest = []byte("{}") }, v1.ReasonDumpMissing, true},
		"another loads":    {func(s *stage) { s.annotate(v1.LoadingAnnotation) }, v1.ReasonInUse, false},
		"another restores": {func(s *stage) { s.annotate(v1.RestoringAnnotation) }, v1.ReasonInUse, false},
		"being taken away": {func(s *stage) {
			s.objects["v1.EcommerceApp shop"].SetDeletionTimestamp(&metav1.Time{Time: stageTime()})
		}, v1.ReasonNoDatabase, false},
		"without database":  {func(s *stage) { s.objects["v1.EcommerceApp shop"].(*v1.EcommerceApp).Spec.Database = nil }, v1.ReasonNoDatabase, false},
		"its claim is gone": {func(s *stage) { delete(s.objects, "v1.PersistentVolumeClaim shop-database-backup") }, v1.ReasonDumpMissing, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			tt.change(s)
			v, err := s.shop().advance(t.Context())
			if v.Reason != tt.reason || v.Fatal != tt.fatal || err != nil || s.did != nil {
				t.Errorf("%+v, %v, and it did %s", v, err, s.did)
			}
		})
	}
}

// TestStoppedForNothing: what cannot be once the application is stopped has an end.
func TestStoppedForNothing(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", nil)
	tests := map[string]struct {
		change func(*stage)
		reason string
	}{
		"no Jobs":    {func(s *stage) { s.refuses["v1.Job"] = forbidden }, v1.ReasonForbidden},
		"no Secrets": {func(s *stage) { s.refuses["v1.Secret"] = forbidden }, v1.ReasonForbidden},
		"another bucket by now": {func(s *stage) {
			s.until(t, v1.ReasonStoppingApplication)
			s.bucket.name = "others"
		}, v1.ReasonDumpMissing},
		"a Job of the name": {func(s *stage) {
			s.put(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: s.shop().jobName(0)}})
		}, v1.ReasonLoadFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.cluster = "us-1"
			s.backup.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}
			tt.change(s)
			for range 4 {
				v, err := s.shop().advance(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if v.Fatal {
					if v.Reason != tt.reason || strings.Contains(v.Message, "signature") {
						t.Errorf("%+v", v)
					}
					return
				}
			}
			t.Errorf("it goes on: %s", s.did)
		})
	}
}

// TestAJobThatCannotStart does not keep the application stopped for as long as it may load.
func TestAJobThatCannotStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.until(t, v1.ReasonLoading)
	job := s.job(t)
	job.CreationTimestamp = metav1.NewTime(stageTime().Add(-startLimit))
	p := pod(job.Name+"-x", job.Spec.Template.Labels)
	p.Labels["job-name"] = job.Name
	p.OwnerReferences = []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
	s.pods = append(s.pods, p)
	advance := func() (string, bool) {
		v, err := s.shop().advance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v.Message, v.Fatal
	}
	if said, fatal := advance(); fatal || !strings.Contains(said, "ImagePullBackOff") {
		t.Errorf("in time it says %q", said)
	}
	job.CreationTimestamp = metav1.NewTime(stageTime().Add(-startLimit - time.Second))
	if said, fatal := advance(); !fatal || !strings.Contains(said, "could not start within 15m0s: ImagePullBackOff") {
		t.Errorf("in the end it says %q", said)
	}
}

// TestADumpIsWaitedFor before anything is stopped.
func TestADumpIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pods = append(s.pods, pod("nightly-x", map[string]string{v1.ComponentLabel: "database-backup"}))
	s.until(t, v1.ReasonInUse)
	if s.did != nil || s.copied().Annotations[v1.LoadingAnnotation] != "" {
		t.Errorf("it did %s", s.did)
	}
	s.pods[1].Status.Phase = corev1.PodSucceeded
	s.until(t, v1.ReasonLoading)
}
