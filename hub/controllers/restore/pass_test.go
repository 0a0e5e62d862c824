package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// server stands for an API server, of the hub or of a member: it keeps what it is given,
// and minds the versions that patches ask for.
type server struct {
	client.Client
	cluster.Cluster
	objects map[string]client.Object
	did     []string
}

func newServer(objects ...client.Object) *server {
	s := &server{objects: map[string]client.Object{}}
	for _, o := range objects {
		o.SetResourceVersion("1")
		s.objects[keyOf(o)] = o
	}
	return s
}

func keyOf(o client.Object) string { return fmt.Sprintf("%T %s", o, o.GetName()) }

func (s *server) GetAPIReader() client.Reader { return s }
func (s *server) GetClient() client.Client    { return s }

func (s *server) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := s.objects[fmt.Sprintf("%T %s", into, key.Name)]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return copyInto(found, into)
}

func copyInto(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (s *server) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	for _, o := range s.objects {
		if pod, is := o.(*corev1.Pod); is && asked.LabelSelector.Matches(labels.Set(pod.Labels)) {
			list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *pod)
		}
	}
	return nil
}

func (s *server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	made := o.DeepCopyObject().(client.Object)
	made.SetUID("j-1")
	s.objects[keyOf(o)] = made
	s.did = append(s.did, "create "+keyOf(o))
	return nil
}

func (s *server) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	if s.objects[keyOf(o)] == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	delete(s.objects, keyOf(o))
	s.did = append(s.did, "delete "+keyOf(o))
	return nil
}

func (s *server) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	text, err := patch.Data(o)
	if err != nil {
		return err
	}
	there := s.objects[keyOf(o)]
	if !strings.Contains(string(text), `"resourceVersion":"`+there.GetResourceVersion()+`"`) {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
	}
	o.SetResourceVersion(there.GetResourceVersion() + "1")
	s.objects[keyOf(o)] = o.DeepCopyObject().(client.Object)
	if app, is := o.(*v1.EcommerceApp); is {
		s.did = append(s.did, "loading is "+app.Annotations[v1.LoadingAnnotation])
	}
	return nil
}

func (s *server) Status() client.SubResourceWriter { return status{server: s} }

type status struct {
	client.SubResourceWriter
	server *server
}

func (s status) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.server.Patch(ctx, o, patch)
}

// dumpBench is a hub and a member with a placed shop, and a Restore of a dump on its claim.
type dumpBench struct {
	hub, member *server
	reconciler  *Reconciler
	recorder    *events.FakeRecorder
}

func newDumpBench() *dumpBench {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shops", Name: name} }
	ready := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	app := v1.EcommerceApp{ObjectMeta: named("shop"), Spec: v1.EcommerceAppSpec{
		Database: &v1.Database{Engine: v1.EnginePostgreSQL, Version: "15.4", Storage: "1Gi"},
	}}
	b := &dumpBench{
		hub: newServer(
			&v1.Restore{ObjectMeta: named("r"), Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "b"}}},
			&v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}, app.DeepCopy(),
			&v1.Backup{
				ObjectMeta: named("b"), Spec: v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump},
				Status: v1.BackupStatus{
					Phase: v1.BackupCompleted, Engine: v1.EnginePostgreSQL, Version: "15.4",
					Dump: &v1.DumpFile{Claim: "dumps", File: "backup-20260302T020000Z.dump", Bytes: 7, SHA256: strings.Repeat("0", 64)},
				},
			},
		),
		member:   newServer(app.DeepCopy(), &corev1.PersistentVolumeClaim{ObjectMeta: named("dumps")}, &corev1.Pod{ObjectMeta: named("shop-database-0"), Status: ready}),
		recorder: events.NewFakeRecorder(10),
	}
	b.reconciler = &Reconciler{client: b.hub, options: Options{
		HubUID: "hub-1", Accounts: &accounts.Accounts{}, Recorder: b.recorder,
		Member: func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) { return b.member, nil },
		Clock:  clocktesting.NewFakePassiveClock(time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC)),
	}}
	return b
}

func (b *dumpBench) restore() *v1.Restore { return b.hub.objects["*v1.Restore r"].(*v1.Restore) }

func (b *dumpBench) pass(t *testing.T) {
	t.Helper()
	_, err := b.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shops", Name: "r"}})
	if err != nil {
		t.Fatal(err)
	}
}

// ended lets the Job end that is there.
func (b *dumpBench) ended(t *testing.T, code int32) string {
	t.Helper()
	for key, o := range b.member.objects {
		job, is := o.(*batchv1.Job)
		if !is {
			continue
		}
		kind := batchv1.JobFailed
		if code == 0 {
			kind = batchv1.JobComplete
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "x", Labels: map[string]string{"job-name": job.Name}, OwnerReferences: []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}},
		}}
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
			Name: jobs.LoadContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
		}}}
		b.member.objects[keyOf(pod)] = pod
		return key
	}
	t.Fatalf("there is no Job: %s; %s", b.member.did, b.restore().Status.Message)
	return ""
}

// TestFailureIsFinal: what failed is written down before it is taken back, and is not
// tried again by the passes that take it back.
func TestFailureIsFinal(t *testing.T) {
	t.Parallel()
	b := newDumpBench()
	b.pass(t)
	b.pass(t)
	job := b.ended(t, jobs.ExitNotEmpty)
	b.pass(t)
	if s := b.restore().Status; s.Phase != v1.RestoreCleaningUp || len(b.member.did) != 2 {
		t.Fatalf("the Restore is %s, and this was done: %s", s.Phase, b.member.did)
	}
	for range 6 {
		b.pass(t)
	}
	s := b.restore().Status
	ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	if s.Phase != v1.RestoreFailed || ready.Reason != v1.ReasonDatabaseNotEmpty || s.Message != ready.Message || s.CompletionTime == nil {
		t.Errorf("%+v", s)
	}
	want := []string{"loading is r", "create " + job, "delete " + job, "loading is "}
	if diff := cmp.Diff(want, b.member.did); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if n := len(b.recorder.Events); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestLoadedAndLetGo(t *testing.T) {
	t.Parallel()
	b := newDumpBench()
	b.pass(t)
	b.pass(t)
	job := b.ended(t, 0)
	b.pass(t)
	if s := b.restore().Status; s.Phase != v1.RestoreStarting || !s.Dump.Loaded || len(b.member.did) != 2 {
		t.Fatalf("%+v, and this was done: %s", s, b.member.did)
	}
	for range 6 {
		b.pass(t)
	}
	want := []string{"loading is r", "create " + job, "loading is ", "delete " + job}
	if diff := cmp.Diff(want, b.member.did); diff != "" || b.restore().Status.Phase != v1.RestoreCompleted {
		t.Errorf("%s; done (-want +got):\n%s", b.restore().Status.Message, diff)
	}
}

// TestDeletedWhileItLoads: the Job goes first, then the shop starts, and then the Restore
// is let go.
func TestDeletedWhileItLoads(t *testing.T) {
	t.Parallel()
	b := newDumpBench()
	b.pass(t)
	b.pass(t)
	job := b.ended(t, 1)
	b.member.objects["*v1.Pod x"].(*corev1.Pod).Status.Phase = corev1.PodRunning
	b.member.objects["*v1.Pod x"].SetLabels(map[string]string{v1.RestoreLabel: "r", v1.InstanceLabel: "shop"})
	b.restore().DeletionTimestamp = &metav1.Time{Time: b.reconciler.options.Clock.Now()}
	for range 3 {
		b.pass(t)
	}
	if len(b.restore().Finalizers) == 0 || !strings.Contains(b.restore().Status.Message, "being deleted") {
		t.Errorf("while a pod is at work: %v, %s", b.restore().Finalizers, b.restore().Status.Message)
	}
	delete(b.member.objects, "*v1.Pod x")
	for range 3 {
		b.pass(t)
	}
	want := []string{"loading is r", "create " + job, "delete " + job, "loading is "}
	if diff := cmp.Diff(want, b.member.did); diff != "" || len(b.restore().Finalizers) != 0 {
		t.Errorf("%v; done (-want +got):\n%s", b.restore().Finalizers, diff)
	}
}

// TestNote: the volume of a claim is written down once, before the claim goes.
func TestNote(t *testing.T) {
	t.Parallel()
	b := newDumpBench()
	stored := b.restore().DeepCopy()
	w := &work{Reconciler: b.reconciler, stored: stored, restore: stored.DeepCopy()}
	for range 2 {
		if err := w.note(t.Context(), "data-0", "pvc-1"); err != nil {
			t.Fatal(err)
		}
	}
	want := []v1.RestoredVolume{{Claim: "data-0", PersistentVolume: "pvc-1"}}
	if diff := cmp.Diff(want, b.restore().Status.Volumes); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	// Who reads an old Restore writes nothing.
	old := &work{Reconciler: b.reconciler, stored: stored, restore: stored.DeepCopy()}
	if err := old.note(t.Context(), "data-1", "pvc-2"); !apierrors.IsConflict(err) {
		t.Errorf("an old one: %v", err)
	}
}
