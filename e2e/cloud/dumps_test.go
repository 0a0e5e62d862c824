package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

const (
	// local is the member without a cloud.
	local = "local-1"
	// books is the application whose database is dumped in every member with a cloud, and
	// daybook one that is dumped each minute.
	books, daybook = "books", "daybook"
)

// newBooks returns an application whose backups are dumps.
func newBooks(name, schedule string, clusters ...string) *v1.EcommerceApp {
	app := newShop(name, clusters...)
	app.Spec.Database.Backup.Method, app.Spec.Database.Backup.Schedule = v1.BackupDump, v1.CronSchedule(schedule)
	return app
}

// testDump dumps the shop in the member without a cloud, and begins a dump that fails.
func (s *suite) testDump(t *testing.T) {
	t.Helper()
	good := s.dump(t, shop, local, "dumped")
	s.awaitCondition(t, good, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	got := good.Status
	content := s.fileOf(t, local, got.Dump)
	want := v1.BackupStatus{
		Phase: v1.BackupCompleted, Engine: v1.EnginePostgreSQL, Version: "13.4", Consistency: v1.ConsistencyApplication,
		Dump: &v1.DumpFile{
			Claim: "shop-database-backup", Job: s.jobOf(t, good).Name, File: got.Dump.File, Bytes: int64(len(content)), SHA256: sum(content),
		},
	}
	if diff := cmp.Diff(want, v1.BackupStatus{
		Phase: got.Phase, Engine: got.Engine, Version: got.Version, Consistency: got.Consistency, Dump: got.Dump,
	}); diff != "" || got.SnapshotTime == nil {
		t.Errorf("cut at %v (-want +got):\n%s", got.SnapshotTime, diff)
	}
	s.checkDumpJob(t, good)

	s.Delete(t, good)
	if job := s.jobOf(t, good); job == nil {
		t.Error("the Job in the member went with the Backup")
	}
	s.noDump(t)

	// The Job controller waits half a minute until it gives up; see testFailedDump.
	failure := ending{1, "pg_dump: error:\n\tno route to host"}
	s.kubelets[local].failWith(dumpContainer, failure, failure, failure)
	s.failing = s.dump(t, shop, local, "not-dumped")
}

// testFailedDump looks at the Backup whose Job failed.
func (s *suite) testFailedDump(t *testing.T) {
	t.Helper()
	failed := s.awaitCondition(t, s.failing, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDumpFailed)
	for _, part := range []string{"BackoffLimitExceeded", "pg_dump: error: no route to host"} {
		if s.failing.Status.Phase != v1.BackupFailed || !strings.Contains(failed.Message, part) {
			t.Errorf("it is %s and says %q, want %q in it", s.failing.Status.Phase, failed.Message, part)
		}
	}
	s.Delete(t, s.failing)
}

// noDump asks for a dump where the CronJob is none of the copy's.
func (s *suite) noDump(t *testing.T) {
	t.Helper()
	b := s.dump(t, shop, s.aws().member, "dump-in-a-cloud")
	s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonCronJobNotFound)
	if b.Status.Phase != v1.BackupFailed {
		t.Errorf("the backup is %s, want Failed", b.Status.Phase)
	}
	s.Delete(t, b)
}

// dump asks for a dump.
func (s *suite) dump(t *testing.T, app, member, name string) *v1.Backup {
	t.Helper()
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: app}, ClusterRef: v1.ObjectReference{Name: member}, Method: v1.BackupDump},
	}
	s.Create(t, b)
	return b
}

// fileOf reads the file of a dump from the disk of its member.
func (s *suite) fileOf(t *testing.T, member string, dump *v1.DumpFile) []byte {
	t.Helper()
	if dump == nil {
		t.Fatal("the status says nothing of a dump")
	}
	content, err := os.ReadFile(s.kubelets[member].file(dump.Claim, dump.File))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// jobOf returns the Job in the local member that dumps for a Backup, or nil.
func (s *suite) jobOf(t *testing.T, b *v1.Backup) *batchv1.Job {
	t.Helper()
	found := &batchv1.JobList{}
	if err := s.Members[local].List(t.Context(), found, client.InNamespace(namespace), client.MatchingLabels{v1.BackupLabel: b.Name}); err != nil {
		t.Fatal(err)
	}
	if len(found.Items) == 0 {
		return nil
	}
	return &found.Items[0]
}

// checkDumpJob sees that the Job is the CronJob's, but not bound to it.
func (s *suite) checkDumpJob(t *testing.T, b *v1.Backup) {
	t.Helper()
	from := &batchv1.CronJob{}
	key := client.ObjectKey{Namespace: namespace, Name: render.DatabaseCronJob(shop)}
	if err := s.Members[local].Get(t.Context(), key, from); err != nil {
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

// testSend sends dumps to the buckets of all clouds, one of them after a delay.
func (s *suite) testSend(t *testing.T) {
	t.Helper()
	s.books = newBooks(books, "0 2 1 1 *", "aws-eu", "az-eu", "gcp-eu")
	s.Create(t, s.books)
	s.AwaitRunning(t, s.books, "eu-west-1", "europe-west1", "westeurope")
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		if p.name == v1.ProviderAzure { // Where nothing else is sent. The Job makes another pod.
			s.kubelets[p.member].failWith(jobs.SendContainer, ending{1, "connection reset by peer"})
		}
		b := s.dump(t, books, p.member, "sent-"+p.account())
		s.awaitCondition(t, b, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		object := b.Status.Dump.Object
		if object == nil || object.State != v1.DumpSent || object.Attempt != 0 || b.Status.Account != p.account() || object.Bucket != p.spec.ObjectStorage.Bucket {
			t.Fatalf("the dump is %+v in account %q, want it sent by one Job", object, b.Status.Account)
		}
		part, made := p.content(t, dumps.PartKey(object.Prefix, 0))
		if !made || string(part) != string(s.fileOf(t, p.member, b.Status.Dump)) {
			t.Errorf("the part is there: %t, with %d bytes; want what the file has", made, len(part))
		}
		if _, made := p.content(t, dumps.ManifestKey(object.Prefix)); !made {
			t.Error("there is no manifest")
		}
	})
}

// content returns what is under a key of ours in the bucket.
func (p *provider) content(t *testing.T, key string) ([]byte, bool) {
	t.Helper()
	return p.bucket.Content(p.spec.ObjectStorage.Prefix + "/" + key)
}

// keys returns the keys in the bucket below the prefix of an account.
func (p *provider) keys(below string) []string {
	var found []string
	for _, o := range p.bucket.Objects() {
		if strings.HasPrefix(o.Key, p.spec.ObjectStorage.Prefix+"/"+below) {
			found = append(found, o.Key)
		}
	}
	return found
}

// testLoad loads dumps where they were made, from the claim, and where they were not, from
// the bucket of whichever cloud has them.
func (s *suite) testLoad(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		b := &v1.Backup{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sent-" + p.account()}, b); err != nil {
			t.Fatal(err)
		}
		here := s.restore(t, "loaded-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: b.Name}})
		s.awaitCondition(t, here, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		if here.Status.Dump.From != v1.DumpFromClaim || s.kubelets[p.member].loaded() != b.Status.Dump.SHA256 {
			t.Errorf("loaded from the %s, and the database has another dump", here.Status.Dump.From)
		}
		again := s.restore(t, "refused-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: b.Name}})
		s.awaitCondition(t, again, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDatabaseNotEmpty)
	})
	s.AwaitRunning(t, s.books, "eu-west-1", "europe-west1", "westeurope")
	// Each cloud's into another's: who loads them has no account there.
	next := map[v1.Provider]string{v1.ProviderAWS: "gcp-eu", v1.ProviderGCP: "az-eu", v1.ProviderAzure: "aws-eu"}
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		if p.name == v1.ProviderGCP {
			s.kubelets[next[p.name]].failWith(jobs.FetchContainer, ending{4, "the requests have expired"})
		}
		r := s.restore(t, "brought-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "sent-" + p.account()}, ClusterRef: v1.ObjectReference{Name: next[p.name]}, Overwrite: true})
		s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		b := &v1.Backup{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: r.Spec.BackupRef.Name}, b); err != nil {
			t.Fatal(err)
		}
		if r.Status.Dump.From != v1.DumpFromBucket || s.kubelets[next[p.name]].loaded() != b.Status.Dump.SHA256 {
			t.Errorf("loaded from the %s, and the database has another dump", r.Status.Dump.From)
		}
		s.nothingOf(t, next[p.name], v1.RestoreLabel)
	})
	s.AwaitRunning(t, s.books, "eu-west-1", "europe-west1", "westeurope")
}

// nothingOf checks that what was made in a member to move dumps is gone.
func (s *suite) nothingOf(t *testing.T, member, label string) {
	t.Helper()
	framework.Eventually(t, "what was made in "+member+" to be gone", func(ctx context.Context) error {
		for _, list := range movers() {
			if err := s.Members[member].List(ctx, list, client.InNamespace(namespace), client.HasLabels{label}); err != nil {
				return err
			}
			if left := namesOf(list); len(left) > 0 {
				return fmt.Errorf("%T %v: %w", list, left, errors.New("left"))
			}
		}
		return nil
	})
}

// testLoadBeforePlacement asks for a dump to be loaded where the application is not placed yet.
func (s *suite) testLoadBeforePlacement(t *testing.T) {
	t.Helper()
	r := s.restore(t, "unplaced", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "sent-aws"}, ClusterRef: v1.ObjectReference{Name: second}})
	s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonNoDatabase)
	framework.Edit(t, s.Hub, s.books, func(app *v1.EcommerceApp) {
		app.Spec.Placement.ClusterNames = append(app.Spec.Placement.ClusterNames, second)
	})
	s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
	if s.kubelets[second].loaded() == "" {
		t.Error("the database was not loaded")
	}
	s.AwaitRunning(t, s.books, "eu-west-1", "europe-west1", "us-east-1", "westeurope")
}

// testDumpVerification has a Job load a dump into a database of its own, and read it.
func (s *suite) testDumpVerification(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		before, err := s.unclaimed(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		had := s.kubelets[p.member].loaded()
		r := s.restore(t, "dump-proven-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "sent-" + p.account()}, Verify: true})
		s.awaitVerified(t, r, "Resolve", "Load", "Prove")
		if s.kubelets[p.member].loaded() != had {
			t.Error("the application's database was touched")
		}
		s.checkVerificationNamespace(t, p.member)
		s.awaitUnclaimed(t, p, before)
	})
}

// testDumpRediscovery loses the Backup of a dump on the hub alone, and finds it in the bucket.
func (s *suite) testDumpRediscovery(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		lost, found := s.loseAndRediscover(t, p, "sent-"+p.account(), "dumps")
		if found.Status.Phase != v1.BackupCompleted || found.Status.Dump == nil || found.Status.Dump.Object == nil || found.Spec.Method != v1.BackupDump {
			t.Fatalf("found as %+v", found.Status)
		}
		if found.Status.Dump.SHA256 != lost.Status.Dump.SHA256 || found.Status.Dump.Object.Prefix != lost.Status.Dump.Object.Prefix || found.UID == lost.UID {
			t.Errorf("lost %+v, found %+v", lost.Status.Dump, found.Status.Dump)
		}
		r := s.restore(t, "found-"+p.account(), v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: found.Name}, Overwrite: true})
		s.awaitCondition(t, r, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonCompleted)
		s.Delete(t, r)

		// Who does not want it kept any more says so, and nothing is left.
		prefix := found.Status.Dump.Object.Prefix
		s.discard(t, found)
		if left := p.keys(prefix); len(left) > 0 {
			t.Errorf("left in the bucket: %v", left)
		}
	})
}

// testScheduledDumps looks at the Backups of dumps that the schedule made.
func (s *suite) testScheduledDumps(t *testing.T) {
	t.Helper()
	p := s.aws()
	made := s.awaitScheduled(t, client.MatchingLabels{v1.InstanceLabel: daybook})
	for _, b := range made {
		job := fmt.Sprintf("%s-%d", render.DatabaseCronJob(daybook), b.Spec.ScheduledTime.Unix()/60)
		if b.Spec.Method != v1.BackupDump || b.Status.Dump.Job != job || b.Status.Dump.Object == nil || b.Status.Dump.Object.State != v1.DumpSent {
			t.Errorf("the backup of scheduledTime %s is of the method %s, its dump %+v; want the Job %s, sent", b.Spec.ScheduledTime, b.Spec.Method, b.Status.Dump, job)
		}
	}
	framework.Await(t, s.Hub, s.daybook, "the application to say how it is dumped", func(*v1.EcommerceApp) error {
		for _, entry := range s.daybook.Status.Backups {
			if entry.Name == p.member && entry.LastScheduledTime != nil && entry.LastBackupTime != nil && entry.NextBackupTime != nil {
				return nil
			}
		}
		return fmt.Errorf("%+v: %w", s.daybook.Status.Backups, errors.New("it does not say"))
	})
	framework.Edit(t, s.Hub, s.daybook, func(app *v1.EcommerceApp) { app.Spec.Database.Backup.Enabled = false })
}
