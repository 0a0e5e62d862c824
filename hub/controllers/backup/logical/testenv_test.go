package logical

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	sendJob   = scheduledJob + "-send-0"
	testFacts = "shopfleet/hub-1/app-1/shop-eu-1-20260302-0200-fee858c0"
)

// world is a member, a bucket and the hub's object.
type world struct {
	client.Reader
	client.Writer
	t       *testing.T
	clock   *testclock.FakeClock
	store   *bucket.Store
	backup  *v1.Backup
	objects map[string]client.Object
	pods    []corev1.Pod
	copied  bool
	// refuses answers requests to the member, by verb; not what is in the bucket.
	refuses map[string]error
	log     []string
	// other is the bucket that the account has now, if it is another one.
	other string
	// stored is the status as it was last written.
	stored v1.BackupStatus
}

func newWorld(t *testing.T) *world {
	t.Helper()
	clock := testclock.NewFakeClock(now())
	b := scheduledBackup()
	b.Status.AppUID, b.Status.Account, b.Status.Region, b.Status.Provider = "app-1", "prod", "eu-west-1", v1.ProviderAWS
	b.Status.Engine, b.Status.Version, b.Status.SnapshotTime = v1.EnginePostgreSQL, "15.4", &metav1.Time{Time: now().Truncate(time.Minute)}
	b.Status.Dump = &v1.DumpFile{Claim: "shop-database-backup", Job: scheduledJob, File: "backup-20260302T020000Z.dump", Bytes: 5, SHA256: sum}
	return &world{
		t: t, clock: clock, store: bucket.NewStore(clock), backup: b, copied: true,
		objects: map[string]client.Object{}, refuses: map[string]error{},
	}
}

func keyOf(o client.Object) string { return fmt.Sprintf("%T %s", o, o.GetName()) }

func (w *world) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if err := w.refuses["get"]; err != nil {
		return err
	}
	into.SetName(key.Name)
	switch into := into.(type) {
	case *v1.EcommerceApp:
		if w.copied {
			into.UID = "copy-1"
			return nil
		}
	case *batchv1.Job:
		if job, there := w.objects[keyOf(into)].(*batchv1.Job); there {
			job.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (w *world) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if err := w.refuses["list"]; err != nil {
		return err
	}
	pods, is := list.(*corev1.PodList)
	if !is {
		return fmt.Errorf("listing %T", list)
	}
	pods.Items = append(pods.Items, w.pods...)
	return nil
}

func (w *world) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	w.log = append(w.log, "create "+keyOf(o))
	if err := w.refuses["create"]; err != nil {
		return err
	}
	o.SetUID("uid-1")
	w.objects[keyOf(o)] = o
	return nil
}

func (w *world) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	w.log = append(w.log, "delete "+keyOf(o))
	if err := w.refuses["delete"]; err != nil {
		return err
	}
	if _, there := w.objects[keyOf(o)]; !there {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	delete(w.objects, keyOf(o))
	return nil
}

func (w *world) bucket() accounts.Bucket {
	name := "dumps"
	if w.other != "" {
		name = w.other
	}
	return accounts.Bucket{Name: name, Objects: bucket.Connect(w.store, bucket.Options{URL: "https://b.example.com"})}
}

// pass is one pass of the hub, which writes what came of it, and forgets the rest.
func (w *world) pass() stepresult.Result {
	w.t.Helper()
	v, err := Send{
		Backup: w.backup, Bucket: w.bucket(), Owner: cloud.Owner{Hub: "hub-1", App: "app-1"}, Image: "spoke:1",
		Reader: w, Writer: w, Now: w.clock.Now(),
		Intend: func(context.Context) error {
			w.log = append(w.log, "intend")
			w.stored = *w.backup.Status.DeepCopy()
			return nil
		},
	}.Advance(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// job is the Job of the attempt that is under way.
func (w *world) job() *batchv1.Job {
	w.t.Helper()
	job, there := w.objects["*v1.Job "+sendKey(w.backup).Name].(*batchv1.Job)
	if !there {
		w.t.Fatalf("there is no Job %s in %v", sendKey(w.backup).Name, w.objects)
	}
	return job
}

// ends lets the Job end with a status; with 0 and others it may have sent the parts.
func (w *world) ends(code int32, said string) {
	w.t.Helper()
	kind := batchv1.JobFailed
	if code == order.ExitDone {
		kind = batchv1.JobComplete
	}
	job := w.job()
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "R", Message: "m"}}
	w.pods = []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: said, FinishedAt: metav1.NewTime(w.clock.Now())},
		}}}},
	}}
}

func (w *world) sends() { w.store.Put(logicalbackup.PartKey(testFacts, 0), []byte("12345")) }

func (w *world) object() v1.DumpObject { return *w.backup.Status.Dump.Object }
