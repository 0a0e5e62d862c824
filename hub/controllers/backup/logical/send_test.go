package logical

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// TestADumpIsSent from the first pass to the manifest, with what is written in between.
func TestADumpIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sending := stepresult.Hold(stepresult.PollFirst, v1.ReasonSending, "the Job %s sends the dump", sendJob)
	for range 2 {
		if diff := cmp.Diff(sending, w.pass()); diff != "" {
			t.Fatalf("result (-want +got):\n%s", diff)
		}
	}
	want := []string{"intend", "create *v1.Secret " + sendJob, "create *v1.Job " + sendJob}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	object := v1.DumpObject{Bucket: "dumps", Prefix: testFacts, State: v1.DumpSending, ExpirationTime: &metav1.Time{Time: now().Add(time.Hour)}}
	if diff := cmp.Diff(object, *w.stored.Dump.Object); diff != "" {
		t.Errorf("written before anything was made (-want +got):\n%s", diff)
	}
	secret, _ := w.objects["*v1.Secret "+sendJob].(*corev1.Secret)
	o, err := order.Read(secret.Data[order.FileName])
	if err != nil || o.Parts[0].Request == nil || o.ExpiresAt.After(object.ExpirationTime.Time) {
		t.Errorf("order %v, expires %s", err, o.ExpiresAt)
	}
	owners := []metav1.OwnerReference{{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: "shop", UID: "copy-1"}}
	for _, made := range []client.Object{secret, w.job()} {
		if diff := cmp.Diff(owners, made.GetOwnerReferences()); diff != "" || made.GetLabels()[v1.BackupLabel] != w.backup.Name {
			t.Errorf("%s: labels %v, owners (-want +got):\n%s", keyOf(made), made.GetLabels(), diff)
		}
	}
	w.sends()
	w.ends(order.ExitDone, "sent")
	if v := w.pass(); v.Stops() {
		t.Fatalf("result %+v", v)
	}
	if diff := cmp.Diff(v1.DumpObject{Bucket: "dumps", Prefix: testFacts, State: v1.DumpSent}, w.object()); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if _, left := w.objects["*v1.Secret "+sendJob]; left {
		t.Error("the order is still there")
	}
	m, err := logicalbackup.Find(t.Context(), w.bucket(), testFacts)
	if err != nil || m.SHA256 != sum || m.Backup != w.backup.Name || m.Hub != "hub-1" {
		t.Errorf("manifest %+v, %v", m, err)
	}
	w.log = nil
	if v := w.pass(); v.Stops() || w.log != nil {
		t.Errorf("once it is sent: %+v, done %v", v, w.log)
	}
}

// TestHowAnAttemptEnds: what another one follows on, and what fails.
func TestHowAnAttemptEnds(t *testing.T) {
	t.Parallel()
	retry := func(wait time.Duration, format string) stepresult.Result {
		return stepresult.Hold(wait, v1.ReasonRetrying, format, sendJob)
	}
	for name, tt := range map[string]struct {
		change func(*world)
		want   stepresult.Result
	}{
		"the network": {func(w *world) { w.ends(order.ExitRetry, "no route to the storage") },
			retry(stepresult.Transient, "the Job %s has not sent all of the dump: no route to the storage")},
		"refused": {func(w *world) { w.ends(order.ExitRefused, "refused") },
			retry(stepresult.Transient, "the Job %s has not sent all of the dump: refused")},
		"expired": {func(w *world) { w.clock.Step(55 * time.Minute); w.ends(order.ExitRefused, "refused") },
			retry(stepresult.PollFirst, "the Job %s has not sent all of the dump: refused")},
		"killed": {func(w *world) { w.ends(137, "") },
			retry(stepresult.Transient, "the Job %s has not sent all of the dump: R: m")},
		"well, and a part is missing": {func(w *world) { w.ends(order.ExitDone, "sent") },
			retry(stepresult.Transient, "the Job %s sent the dump, and not all of it is in the bucket")},
		"well, and a part is short": {func(w *world) {
			w.store.Put(logicalbackup.PartKey(testFacts, 0), []byte("1234"))
			w.ends(order.ExitDone, "sent")
		},
			retry(stepresult.Transient, "the Job %s sent the dump, and not all of it is in the bucket")},
		"not in time": {func(w *world) { w.clock.Step(71 * time.Minute) },
			retry(stepresult.PollFirst, "the Job %s has not sent the dump in time: it has not ended")},
		"damaged, though the parts are there": {func(w *world) { w.sends(); w.ends(order.ExitFinal, "the file has another checksum") },
			stepresult.Fail(v1.ReasonSendFailed, "the Job %s cannot send the dump: the file has another checksum", sendJob)},
		"pruned": {func(w *world) { w.ends(order.ExitGone, "there is no such file") },
			stepresult.Fail(v1.ReasonSendFailed, "the Job %s cannot send the dump: there is no such file", sendJob)},
		"in time, just so": {func(w *world) { w.clock.Step(69 * time.Minute) },
			stepresult.Hold(time.Minute, v1.ReasonSending, "the Job %s sends the dump", sendJob)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.pass()
			tt.change(w)
			if diff := cmp.Diff(tt.want, w.pass()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if _, sealed := w.store.Content(logicalbackup.ManifestKey(testFacts)); sealed {
				t.Error("there is a manifest")
			}
			under := tt.want.Reason == v1.ReasonSending
			if _, order := w.objects["*v1.Secret "+sendJob]; order != under || (w.object().ExpirationTime != nil) != under {
				t.Errorf("the order is there: %t; %+v", order, w.object())
			}
			if tt.want.Reason == v1.ReasonRetrying {
				w.succeedsThen()
			}
		})
	}
}

// succeedsThen has the second attempt send what the first did not.
func (w *world) succeedsThen() {
	w.t.Helper()
	if got := w.object().Attempt; got != 1 {
		w.t.Errorf("attempt %d", got)
	}
	w.pods = nil
	next := w.pass()
	if want := stepresult.Hold(stepresult.PollFirst, v1.ReasonSending, "the Job %s sends the dump", scheduledJob+"-send-1"); next != want {
		w.t.Errorf("the next attempt: %+v", next)
	}
	w.sends()
	w.ends(order.ExitDone, "sent")
	if v := w.pass(); v.Stops() {
		w.t.Errorf("in the end: %+v", v)
	}
}

// TestAttemptsBecomeRare, and never end by their number.
func TestAttemptsBecomeRare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var waits []time.Duration
	for range 10 {
		w.pass()
		w.ends(order.ExitRetry, "away")
		waits = append(waits, w.pass().Wait)
		w.pods = nil
	}
	s := time.Second
	want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s, 1280 * s, 1800 * s, 1800 * s}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// TestAHubThatForgot: what was written down is enough to go on.
func TestAHubThatForgot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses["create"] = errors.New("the hub dies")
	w.pass()
	w.backup.Status = w.stored
	delete(w.refuses, "create")
	w.clock.Step(time.Minute)
	if v := w.pass(); v.Reason != v1.ReasonSending || w.object().Attempt != 0 || !w.object().ExpirationTime.Time.Equal(now().Add(61*time.Minute)) {
		t.Fatalf("result %+v, object %+v", v, w.object())
	}
	// It ends, and is taken away before it is seen: nobody knows that the file was as it should.
	w.sends()
	delete(w.objects, "*v1.Job "+sendJob)
	if v := w.pass(); v.Reason != v1.ReasonSending {
		t.Fatalf("result %+v", v)
	}
	secret, _ := w.objects["*v1.Secret "+sendJob].(*corev1.Secret)
	if o, err := order.Read(secret.Data[order.FileName]); err != nil || o.Parts[0].Request != nil {
		t.Errorf("what is there is sent again, %v", err)
	}
	w.ends(order.ExitDone, "sent")
	if v := w.pass(); v.Stops() {
		t.Errorf("result %+v", v)
	}
}

// TestWhatKeepsADump from being sent.
func TestWhatKeepsADump(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", nil)
	for name, tt := range map[string]struct {
		change  func(*world)
		reason  string
		message string
		fatal   bool
	}{
		"no copy":   {func(w *world) { w.copied = false }, v1.ReasonSendFailed, "the application is not in eu-1 any more", true},
		"forbidden": {func(w *world) { w.refuses["create"] = forbidden }, v1.ReasonForbidden, "the hub may not make or read Jobs and Secrets in eu-1: run kubectl shopfleet join again", false},
		"away":      {func(w *world) { w.refuses["get"] = errors.New("x") }, v1.ReasonClusterUnreachable, "eu-1 does not answer", false},
		"not accepted": {func(w *world) { w.refuses["create"] = apierrors.NewInvalid(schema.GroupKind{}, "https://secret", nil) },
			v1.ReasonSendFailed, "eu-1 does not accept the Job " + sendJob + ": Invalid", true},
		"too large for buckets": {func(w *world) { w.backup.Status.Dump.Bytes = order.MaxParts*order.PartBytes + 1 },
			v1.ReasonCloudRefused, "preparing to send the dump: a dump of 214748364801 bytes is not sent: 1 to 214748364800 are", true},
		"another bucket": {func(w *world) { w.pass(); w.other = "else" }, v1.ReasonAccountNotReady,
			`parts of the dump are in dumps, and the CloudAccount "prod" has another bucket or prefix now`, false},
		"a Job of another": {func(w *world) { w.pass(); w.job().Labels[v1.BackupLabel] = "other" },
			v1.ReasonSendFailed, "the Job " + sendJob + " is not that of this Backup", true},
		"no pods are told": {func(w *world) { w.pass(); w.refuses["list"] = forbidden }, v1.ReasonForbidden, "the hub may not make or read Jobs and Secrets in eu-1: run kubectl shopfleet join again", false},
		"no image": {func(w *world) {
			w.pass()
			w.pods = []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "uid-1", Controller: new(true)}}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
				}}}},
			}}
		}, v1.ReasonSending, "the Job " + sendJob + " is to send the dump, and waits: ImagePullBackOff", false},
		"another manifest": {func(w *world) {
			w.pass()
			w.sends()
			w.store.Put(logicalbackup.ManifestKey(testFacts), []byte("{}"))
			w.ends(order.ExitDone, "sent")
		}, v1.ReasonDumpMissing, "completing the dump in the bucket: the manifest in the bucket is not that of the dump", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.change(w)
			got := w.pass()
			if diff := cmp.Diff([]any{tt.reason, tt.message, tt.fatal}, []any{got.Reason, got.Message, got.Fatal}); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if !got.Fatal && got.Wait <= 0 {
				t.Error("it is never looked at again")
			}
		})
	}
}

// TestNoBucketIsNoEnd: it may be made yet.
func TestNoBucketIsNoEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := accounts.Bucket{Name: "dumps", Objects: bucket.Connect(w.store, bucket.Options{Missing: true})}
	got, err := Send{
		Backup: w.backup, Bucket: b, Owner: cloud.Owner{Hub: "hub-1", App: "app-1"}, Image: "spoke:1", Reader: w, Writer: w,
		Now: now(), Intend: func(context.Context) error { return nil },
	}.Advance(t.Context())
	want := stepresult.Hold(stepresult.Refused, v1.ReasonAccountNotReady, "preparing to send the dump: the bucket dumps is not there")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, result (-want +got):\n%s", err, diff)
	}
}

// TestNamesOfJobsAreLabels, however long that of the CronJob is.
func TestNamesOfJobsAreLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backup.Status.Dump.Job, w.backup.Status.Dump.Object = strings.Repeat("x", 52)+"-29540280", &v1.DumpObject{Attempt: 99}
	first := sendKey(w.backup).Name
	w.backup.Status.Dump.Job = strings.Repeat("x", 52) + "-29540281"
	if other := sendKey(w.backup).Name; len(first) > 63 || first == other || !strings.HasSuffix(first, "-send-99") {
		t.Errorf("names %s and %s", first, other)
	}
	w.backup.Status.Dump.Job = ""
	if got := sendKey(w.backup).Name; got != scheduledJob+"-send-99" {
		t.Errorf("without a Job it is %s", got)
	}
}
