package dump

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// sends goes from the first pass to the manifest, with what is written in between.
func (e *testEnv) sends(t *testing.T) {
	e.resetToSend(t)
	sending := steps.RetryAfter(steps.PollFirst, v1.ReasonSending, "the Job %s sends the dump", sendJob)
	for range 2 {
		if diff := cmp.Diff(sending, e.send(t)); diff != "" {
			t.Fatalf("result (-want +got):\n%s", diff)
		}
	}
	sent := []string{"create secrets", "create jobs.batch"}
	if diff := cmp.Diff(sent, e.process.Sent()); diff != "" || e.storedAfter != 0 {
		t.Errorf("stored after %d changes (-want +got):\n%s", e.storedAfter, diff)
	}
	object := v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSending, ExpirationTime: &metav1.Time{Time: now().Add(time.Hour)}}
	if diff := cmp.Diff(object, *e.stored.Dump.Object); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	secret, o := e.order(t)
	if o.Parts[0].Request == nil || o.ExpiresAt.After(object.ExpirationTime.Time) {
		t.Errorf("the order expires %s", o.ExpiresAt)
	}
	if nodes := e.job(t, sendJob).Spec.Template.Spec.NodeSelector; nodes["pool"] != "shops" {
		t.Errorf("the pod runs on nodes %v, not on those of the database", nodes)
	}
	owners := []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: backupenv.Shop, UID: e.cronJob.OwnerReferences[0].UID}}
	for _, o := range []client.Object{secret, e.job(t, sendJob)} {
		if diff := cmp.Diff(owners, o.GetOwnerReferences()); diff != "" || o.GetLabels()[v1.BackupLabel] != e.backup.Name {
			t.Errorf("%T: labels %v, owners (-want +got):\n%s", o, o.GetLabels(), diff)
		}
	}
	e.putPart()
	e.endSend(t, order.ExitDone, "sent")
	if result := e.send(t); result.Stops() {
		t.Fatalf("result %+v", result)
	}
	if diff := cmp.Diff(v1.DumpObject{Bucket: "dumps", Prefix: dumpPrefix, State: v1.DumpSent}, e.object()); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
	m, err := dumps.Find(t.Context(), e.connect(), dumpPrefix)
	if err != nil || m.SHA256 != sum || m.Backup != e.backup.Name || m.Hub != backupenv.HubUID {
		t.Errorf("manifest %+v, %v", m, err)
	}
	if result := e.send(t); result.Stops() {
		t.Errorf("once it is sent: %+v", result)
	}
	if diff := cmp.Diff(append(sent, "delete secrets"), e.process.Sent()); diff != "" {
		t.Errorf("changes in the end (-want +got):\n%s", diff)
	}
}

// order returns the order of the Job that sends.
func (e *testEnv) order(t *testing.T) (*corev1.Secret, order.Order) {
	t.Helper()
	secret := &corev1.Secret{}
	if !e.Exists(t, sendJob, secret) {
		t.Fatal("there is no order")
	}
	o, err := order.Read(secret.Data[order.FileName])
	if err != nil {
		t.Fatal(err)
	}
	return secret, o
}

// sendEnds checks that another attempt follows, or the Backup fails.
func (e *testEnv) sendEnds(t *testing.T) {
	retry := func(wait time.Duration, format string) steps.Result {
		return steps.RetryAfter(wait, v1.ReasonRetrying, format, sendJob)
	}
	ends := func(code int32, message string) func(*testing.T) {
		return func(t *testing.T) { t.Helper(); e.endSend(t, code, message) }
	}
	after := func(d time.Duration, then func(*testing.T)) func(*testing.T) {
		return func(t *testing.T) { t.Helper(); e.Clock.Step(d); then(t) }
	}
	for name, tt := range map[string]struct {
		change func(*testing.T)
		want   steps.Result
	}{
		"the network": {ends(order.ExitRetry, "no route to the storage"), retry(steps.Transient, "the Job %s has not sent all of the dump: no route to the storage")},
		"refused": {ends(order.ExitRefused, "refused"),
			retry(steps.Transient, "the Job %s has not sent all of the dump: refused")},
		"no checksums, and none said": {ends(order.ExitChecksums, "none"), retry(steps.Transient, "the bucket takes parts with checksums only, and the Job %s does not say them")},
		"no checksums":                {ends(order.ExitChecksums, "AAAAAQ==\n"), retry(steps.PollFirst, "the bucket takes parts with checksums only: the next Job sends those that the Job %s found")},
		"killed": {ends(137, ""),
			retry(steps.Transient, "the Job %s has not sent all of the dump: PodEnded: the pod ended")},
		"well, and a part is missing": {ends(order.ExitDone, "sent"),
			retry(steps.Transient, "the Job %s sent the dump, and not all of it is in the bucket")},
		"well, and a part is short": {func(t *testing.T) {
			t.Helper()
			e.Buckets.Put(dumps.PartKey(dumpPrefix, 0), []byte("1234"))
			e.endSend(t, order.ExitDone, "sent")
		}, retry(steps.Transient, "the Job %s sent the dump, and not all of it is in the bucket")},
		"late": {after(5*time.Hour, ends(order.ExitRetry, "no route to the storage")),
			retry(steps.Transient, "the Job %s has not sent all of the dump: no route to the storage")},
		"damaged, though the parts are there": {func(t *testing.T) {
			t.Helper()
			e.putPart()
			e.endSend(t, order.ExitFinal, "the file has another checksum")
		}, steps.Fail(v1.ReasonDumpFailed, "the Job %s cannot send the dump: the file has another checksum", sendJob)},
		"pruned": {ends(order.ExitGone, "there is no such file"),
			steps.Fail(v1.ReasonDumpMissing, "the Job %s cannot send the dump: there is no such file", sendJob)},
		"not yet": {after(29*time.Minute, func(*testing.T) {}),
			steps.RetryAfter(time.Minute, v1.ReasonSending, "the Job %s sends the dump", sendJob)},
	} {
		t.Run(name, func(t *testing.T) {
			e.resetToSend(t)
			e.send(t)
			tt.change(t)
			if diff := cmp.Diff(tt.want, e.send(t)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if _, sealed := e.Buckets.Content(dumps.ManifestKey(dumpPrefix)); sealed {
				t.Error("there is a manifest")
			}
			under := tt.want.Reason == v1.ReasonSending
			if there := e.Exists(t, sendJob, &corev1.Secret{}); there != under || (e.object().ExpirationTime != nil) != under {
				t.Errorf("the order is there: %t; %+v", there, e.object())
			}
			if tt.want.Reason == v1.ReasonRetrying {
				e.succeedsThen(t)
			}
		})
	}
}

// succeedsThen makes the second attempt send the parts that the first one did not.
func (e *testEnv) succeedsThen(t *testing.T) {
	t.Helper()
	if got := e.object().Attempt; got != 1 {
		t.Errorf("attempt %d", got)
	}
	if e.Exists(t, sendJob, &batchv1.Job{}) {
		t.Error("the Job is not deleted")
	}
	want := steps.RetryAfter(steps.PollFirst, v1.ReasonSending, "the Job %s sends the dump", sendJob)
	if next := e.send(t); next != want {
		t.Errorf("the next attempt: %+v", next)
	}
	if _, o := e.order(t); o.Parts[0].Request.Header["Crc32c"] != e.object().Checksums {
		t.Errorf("the next attempt sends the checksum %q, want %q", o.Parts[0].Request.Header["Crc32c"], e.object().Checksums)
	}
	e.putPart()
	e.endSend(t, order.ExitDone, "sent")
	if result := e.send(t); result.Stops() {
		t.Errorf("in the end: %+v", result)
	}
}

// renews checks that the order of a Job is renewed at half of its life by one for what is still missing.
func (e *testEnv) renews(t *testing.T) {
	e.resetToSend(t)
	e.send(t)
	job := e.job(t, sendJob).UID
	expect := func(reason string, expires time.Duration, renewed bool) {
		t.Helper()
		result := e.send(t)
		_, o := e.order(t)
		if result.Reason != reason || result.Fatal || !e.object().ExpirationTime.Time.Equal(now().Add(expires)) || o.ExpiresAt.After(e.object().ExpirationTime.Time) ||
			e.stored.Dump.Object.ExpirationTime.Before(e.object().ExpirationTime) || (o.Parts[0].Request == nil) != renewed {
			t.Errorf("%+v, object %+v, order until %s", result, e.object(), o.ExpiresAt)
		}
		if got := e.job(t, sendJob).UID; got != job || e.object().Attempt != 0 {
			t.Errorf("the Job was %s and is %s, attempt %d", job, got, e.object().Attempt)
		}
	}
	e.putPart()
	e.Clock.Step(30*time.Minute - time.Second)
	expect(v1.ReasonSending, time.Hour, false)
	e.options.Missing = true
	e.Clock.Step(time.Second)
	expect(v1.ReasonAccountNotReady, time.Hour, false)
	e.options.Missing = false
	expect(v1.ReasonSending, 90*time.Minute, true)
	e.process.Refuse("delete secrets", errors.New("x"))
	e.Clock.Step(30 * time.Minute)
	expect(v1.ReasonClusterUnreachable, 2*time.Hour, true)
	e.process.Refuse("delete secrets", nil)
	e.Clock.Step(30 * time.Minute)
	expect(v1.ReasonSending, 150*time.Minute, true)
}

// formerJob checks that a Job of the build before, whose name has the number of the attempt, is followed to its end.
func (e *testEnv) formerJob(t *testing.T) {
	for name, code := range map[string]int32{"sent": order.ExitDone, "not sent": order.ExitRefused} {
		t.Run(name, func(t *testing.T) {
			e.resetToSend(t)
			e.send(t)
			job, former := e.job(t, sendJob), &batchv1.Job{}
			former.Namespace, former.Name, former.Labels, former.Spec = job.Namespace, sendJob+"-3", job.Labels, job.Spec
			former.Spec.Selector, former.Spec.Template.Labels = nil, nil
			e.deleteJob(t, sendJob)
			e.MustCreate(t, former)
			e.backup.Status.Dump.Object.Attempt = 3
			e.Clock.Step(50 * time.Minute)
			before := len(e.process.Sent())
			if result := e.send(t); result.Reason != v1.ReasonSending || !strings.Contains(result.Message, former.Name) || len(e.process.Sent()) != before {
				t.Errorf("%+v, changes %q", result, e.process.Sent()[before:])
			}
			e.putPart()
			e.endSend(t, code, "refused")
			switch result := e.send(t); {
			case code == order.ExitDone && result.Stops():
				t.Errorf("%+v", result)
			case code != order.ExitDone && (result.Reason != v1.ReasonRetrying || e.object().Attempt != 4 || e.Exists(t, former.Name, former)):
				t.Errorf("%+v, object %+v", result, e.object())
			case code != order.ExitDone:
				e.send(t)
				e.order(t)
			}
		})
	}
}

// attemptsBecomeRare checks that attempts become rare, and that their number is not limited.
func (e *testEnv) attemptsBecomeRare(t *testing.T) {
	e.resetToSend(t)
	var waits []time.Duration
	for range 10 {
		e.send(t)
		e.endSend(t, order.ExitRetry, "away")
		waits = append(waits, e.send(t).Wait)
	}
	s := time.Second
	want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s, 1280 * s, 1800 * s, 1800 * s}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// restart checks that a restarted hub continues from the stored status.
func (e *testEnv) restart(t *testing.T) {
	e.resetToSend(t)
	e.process.Refuse("create jobs.batch", errors.New("the hub ends"))
	e.send(t)
	_, first := e.order(t)
	e.backup.Status = e.stored
	e.process.Refuse("create jobs.batch", nil)
	e.Clock.Step(10 * time.Minute)
	if result := e.send(t); result.Reason != v1.ReasonSending || e.object().Attempt != 0 || !e.object().ExpirationTime.Time.Equal(now().Add(70*time.Minute)) {
		t.Fatalf("result %+v, object %+v", result, e.object())
	}
	if _, o := e.order(t); !o.ExpiresAt.After(first.ExpiresAt) {
		t.Error("the order of the first attempt is still there")
	}
	// It ends, and is deleted before the hub reads it: the result of its check is lost.
	e.putPart()
	e.deleteJob(t, sendJob)
	if result := e.send(t); result.Reason != v1.ReasonSending {
		t.Fatalf("result %+v", result)
	}
	if _, o := e.order(t); o.Parts[0].Request != nil {
		t.Error("a part in the bucket is sent again")
	}
	e.endSend(t, order.ExitDone, "sent")
	if result := e.send(t); result.Stops() {
		t.Errorf("result %+v", result)
	}
}

// notCreated checks that passes that cannot create the Job change the status rarely, and become rare.
func (e *testEnv) notCreated(t *testing.T) {
	e.resetToSend(t)
	e.process.Refuse("create jobs.batch", errors.New("timeout"))
	for _, tt := range []struct{ after, expires, wait time.Duration }{
		{0, time.Hour, steps.Member},
		{2 * time.Minute, time.Hour, steps.Member},
		{3 * time.Minute, 63 * time.Minute, 21 * time.Second},
		{5 * time.Hour, 6 * time.Hour, steps.Refused},
	} {
		e.Clock.SetTime(now().Add(tt.after))
		if result := e.send(t); result.Reason != v1.ReasonClusterUnreachable || result.Wait != tt.wait {
			t.Errorf("after %s: result %+v, want a wait of %s", tt.after, result, tt.wait)
		}
		_, o := e.order(t)
		if expires := e.object().ExpirationTime.Time; !expires.Equal(now().Add(tt.expires)) || o.ExpiresAt.After(expires) {
			t.Errorf("after %s: expires %s, and the order %s", tt.after, expires, o.ExpiresAt)
		}
	}
}

// obstaclesOfSending checks the message of each obstacle to sending.
func (e *testEnv) obstaclesOfSending(t *testing.T) {
	const forbidden = "the hub may not create or read Jobs and Secrets in eu-1: run kubectl shopfleet join again"
	for name, tt := range map[string]struct {
		change  func(*testing.T)
		reason  string
		message string
		fatal   bool
	}{
		"no copy": {func(t *testing.T) { t.Helper(); e.DeleteAll(t, &v1.EcommerceApp{}) },
			v1.ReasonSendFailed, "the application is not in eu-1 any more", true},
		"forbidden": {func(*testing.T) { e.process.Refuse("create", errForbidden()) }, v1.ReasonForbidden, forbidden, false},
		"away":      {func(*testing.T) { e.process.Refuse("get", errors.New("x")) }, v1.ReasonClusterUnreachable, "eu-1 does not answer", false},
		"not accepted": {func(*testing.T) { e.process.Refuse("create", errInvalid("https://secret")) },
			v1.ReasonApplyFailed, "eu-1 rejects an object of the hub (Invalid)", false},
		"too large for buckets": {func(*testing.T) { e.backup.Status.Dump.Bytes = order.MaxParts*order.PartBytes + 1 },
			v1.ReasonCloudRefused, "preparing to send the dump: a dump of 214748364801 bytes is not sent: 1 to 214748364800 are", true},
		"another bucket": {func(t *testing.T) { t.Helper(); e.send(t); e.bucket = "else" }, v1.ReasonAccountNotReady,
			`parts of the dump are in dumps, and the CloudAccount "prod" has another bucket or prefix now`, false},
		"a Job of another": {func(t *testing.T) {
			t.Helper()
			e.send(t)
			backupenv.Change(t, e.Env, sendJob, func(j *batchv1.Job) { j.Labels[v1.BackupLabel] = "other" })
		}, v1.ReasonSendFailed, "the Job " + sendJob + " belongs to another Backup", true},
		"no pods are told": {func(t *testing.T) { t.Helper(); e.send(t); e.process.Refuse("list", errForbidden()) }, v1.ReasonForbidden, forbidden, false},
		"no image": {func(t *testing.T) { t.Helper(); e.send(t); e.HoldJob(t, "ImagePullBackOff") },
			v1.ReasonSending, "the Job " + sendJob + " is to send the dump, and waits: ImagePullBackOff", false},
		"another manifest": {func(t *testing.T) {
			t.Helper()
			e.send(t)
			e.putPart()
			e.Buckets.Put(dumps.ManifestKey(dumpPrefix), []byte("{}"))
			e.endSend(t, order.ExitDone, "sent")
		}, v1.ReasonDumpMissing, "completing the dump in the bucket: the manifest in the bucket is of another dump: make another Backup", true},
	} {
		t.Run(name, func(t *testing.T) {
			e.resetToSend(t)
			tt.change(t)
			checkObstacle(t, e.send(t), tt.reason, tt.message, tt.fatal)
		})
	}
}

// noBucket checks that a missing bucket is waited for.
func (e *testEnv) noBucket(t *testing.T) {
	e.resetToSend(t)
	e.options.Missing = true
	want := steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady, "preparing to send the dump: the bucket dumps is not there")
	if diff := cmp.Diff(want, e.send(t)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestNamesOfJobsAreLabels checks that names of Jobs are valid labels, however long the CronJob's name is.
func TestNamesOfJobsAreLabels(t *testing.T) {
	t.Parallel()
	b := scheduledBackup()
	b.Status.Dump = &v1.DumpFile{Job: strings.Repeat("x", 52) + "-29540280", Object: &v1.DumpObject{Attempt: 99}}
	first := sendKey(b).Name
	b.Status.Dump.Job = strings.Repeat("x", 52) + "-29540281"
	if other := sendKey(b).Name; len(first) > 63 || first == other || !strings.HasSuffix(first, "-send") {
		t.Errorf("names %s and %s", first, other)
	}
	b.Status.Dump.Job = ""
	if got := sendKey(b).Name; got != scheduledJob+"-send" {
		t.Errorf("without a Job it is %s", got)
	}
}
