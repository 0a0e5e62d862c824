package dump

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

const (
	// jobName is the name of the Job of the manual Backup, scheduledJob the name that the
	// CronJob controller gives to the Job of 02:00.
	jobName      = cronJobName + "-fee858c0"
	scheduledJob = cronJobName + "-29540280"
	sendJob      = scheduledJob + "-send"
	cronJobName  = "shop-database-backup"
	dumpPrefix   = "shopfleet/hub-1/app-1/shop-eu-1-20260302-0200-fee858c0"
)

func now() time.Time { return time.Date(2026, 3, 2, 2, 0, 30, 0, time.UTC) }

func errForbidden() error { return apierrors.NewForbidden(schema.GroupResource{}, "x", nil) }

func errInvalid(name string) error { return apierrors.NewInvalid(schema.GroupKind{}, name, nil) }

// testEnv is a member with a shop whose database is ready and has a CronJob, a bucket, and
// a Backup that only the hub has.
type testEnv struct {
	*backupenv.Env
	process *backupenv.Process
	cronJob *batchv1.CronJob
	backup  *v1.Backup
	// bucket is the name of the account's bucket.
	bucket  string
	options bucket.Options
	// stored is the status as it was last stored, after so many changes in the member.
	stored      v1.BackupStatus
	storedAfter int
}

// TestOnAPIServer runs the tests that share an API server.
func TestOnAPIServer(t *testing.T) {
	e := &testEnv{Env: backupenv.Start(t)}
	e.CreateShop(t)
	t.Run("dump", e.dump)
	t.Run("obstacles of a dump", e.obstaclesOfDump)
	t.Run("dump is denied by a policy", e.denied)
	t.Run("ends of Jobs that dump", e.dumpEnds)
	t.Run("name of a scheduled Job", e.scheduledName)
	t.Run("Job of the CronJob", e.jobOfCronJob)
	t.Run("send", e.sends)
	t.Run("ends of Jobs that send", e.sendEnds)
	t.Run("attempts become rare", e.attemptsBecomeRare)
	t.Run("signed requests are renewed", e.renews)
	t.Run("a Job of the build before", e.formerJob)
	t.Run("restart of the hub", e.restart)
	t.Run("a Job that is not created", e.notCreated)
	t.Run("obstacles of sending", e.obstaclesOfSending)
	t.Run("sending is denied by a policy", e.deniedToSend)
	t.Run("no bucket", e.noBucket)
	t.Run("removal", e.removes)
	t.Run("removal while a pod runs", e.podsMaySend)
	t.Run("obstacles of removal", e.obstaclesOfRemoval)
}

// reset returns to a manual Backup that has not begun.
func (e *testEnv) reset(t *testing.T) {
	t.Helper()
	e.DeleteAll(t, &v1.EcommerceApp{}, &batchv1.CronJob{}, &batchv1.Job{}, &corev1.Pod{}, &corev1.Secret{})
	e.MustCreate(t, apitest.App(backupenv.Shop).Namespace(backupenv.Namespace).Database(v1.EnginePostgreSQL, "15.4", "1Gi").
		With(func(a *v1.EcommerceApp) { a.Spec.Database.NodeSelector = map[string]string{"pool": "shops"} }).Obj())
	e.RunMember(t)
	e.cronJob = e.CreateCronJob(t)
	e.Clock.SetTime(now())
	e.Buckets, e.bucket, e.options = bucket.NewStore(e.Clock), "dumps", bucket.Options{URL: "https://b.example.com"}
	e.process, e.backup = e.NewProcess(t, backupenv.Crash{}), manualBackup()
}

// resetToSend returns to a scheduled Backup whose dump is on its claim.
func (e *testEnv) resetToSend(t *testing.T) {
	t.Helper()
	e.reset(t)
	b := scheduledBackup()
	b.Status.AppUID, b.Status.Account, b.Status.Region, b.Status.Provider = "app-1", backupenv.Account, backupenv.Region, v1.ProviderAWS
	b.Status.Engine, b.Status.Version, b.Status.SnapshotTime = v1.EnginePostgreSQL, "15.4", &metav1.Time{Time: now().Truncate(time.Minute)}
	b.Status.Dump = &v1.DumpFile{Claim: cronJobName, Job: scheduledJob, File: "backup-20260302T020000Z.dump", Bytes: 5, SHA256: sum}
	e.backup = b
}

func manualBackup() *v1.Backup {
	b := apitest.Backup("shop-eu-1-manual").Namespace(backupenv.Namespace).UID("backup-1").With(func(b *v1.Backup) { b.Spec.Method = v1.BackupDump }).Obj()
	b.Status = v1.BackupStatus{StartTime: &metav1.Time{Time: now()}}
	return b
}

// scheduledBackup returns the Backup of 02:00.
func scheduledBackup() *v1.Backup {
	b := manualBackup()
	b.Name, b.Spec.ScheduledTime = "shop-eu-1-20260302-0200", &metav1.Time{Time: now().Truncate(time.Minute)}
	return b
}

// run makes one pass of the hub: for a dump, for sending it, or for removing it.
func (e *testEnv) run(t *testing.T) steps.Result {
	t.Helper()
	return Maker{Backup: e.backup, Reader: e.process.Client, Writer: e.process.Client, Now: now()}.Advance(t.Context())
}

func (e *testEnv) send(t *testing.T) steps.Result {
	t.Helper()
	result, err := Sender{
		Backup: e.backup, Bucket: e.connect(), Owner: cloud.Owner{Hub: backupenv.HubUID, App: "app-1"}, Image: "spoke:1",
		Reader: e.process.Client, Writer: e.process.Client, Now: e.Clock.Now(), SaveStatus: e.intend,
	}.Advance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (e *testEnv) remove(t *testing.T, reached bool) steps.Result {
	t.Helper()
	r := Remover{Backup: e.backup, Bucket: e.connect(), Now: e.Clock.Now()}
	if reached {
		r.Reader, r.Writer = e.process.Client, e.process.Client
	}
	return r.Advance(t.Context())
}

func (e *testEnv) intend(context.Context) error {
	e.stored, e.storedAfter = *e.backup.Status.DeepCopy(), len(e.process.Sent())
	return nil
}

func (e *testEnv) connect() accounts.Bucket {
	return accounts.Bucket{Name: e.bucket, ObjectStore: bucket.Connect(e.Buckets, e.options)}
}

// endSend ends the Job that sends.
func (e *testEnv) endSend(t *testing.T, code int32, message string) {
	t.Helper()
	e.EndJob(t, backupenv.Exit{Container: jobs.SendContainer, Code: code, Message: message})
}

// putPart puts the part of the dump into the bucket.
func (e *testEnv) putPart() { e.Buckets.Put(dumps.PartKey(dumpPrefix, 0), []byte("12345")) }

func (e *testEnv) object() v1.DumpObject { return *e.backup.Status.Dump.Object }

// deleteJob deletes a Job, as its controller or a user may.
func (e *testEnv) deleteJob(t *testing.T, name string) {
	t.Helper()
	job := &batchv1.Job{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: name}, job); err != nil {
		t.Fatal(err)
	}
	if err := memberjob.Stop(t.Context(), e, job); err != nil {
		t.Fatal(err)
	}
}
