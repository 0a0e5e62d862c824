package restore

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// orderOf returns the UID of the Secret with the order of a Job; empty if there is none.
func (d *dumpTest) orderOf(t *testing.T, job string) types.UID {
	t.Helper()
	secret := &corev1.Secret{}
	if !d.Exists(t, job, secret) {
		return ""
	}
	if _, err := order.Read(secret.Data[order.FileName]); err != nil || secret.Immutable != nil {
		t.Errorf("order %v, immutable %v", err, secret.Immutable)
	}
	return secret.UID
}

// renewals checks that the order of a Job is renewed at half of its life, until the dump is downloaded.
func (d *dumpTest) renewals(t *testing.T, job string) {
	t.Helper()
	after := func(wait time.Duration, renewed bool, what string) {
		t.Helper()
		d.Clock.Step(wait)
		before, uid := d.orderOf(t, job), d.job(t).UID
		d.passes(t, 1)
		if now := d.orderOf(t, job); now == "" || (now != before) != renewed || d.job(t).UID != uid {
			t.Errorf("%s: the order was %q and is %q, want another one: %t", what, before, now, renewed)
		}
	}
	expires := d.restore(t).Status.Dump.ExpirationTime.Sub(d.Clock.Now())
	after(expires-dumps.Life/2-time.Minute, false, "before half of its life")
	after(time.Minute, true, "at half of its life")
	after(dumps.Life/2-time.Minute, false, "before half of the life of the next")
	d.process.Refuse("create secrets", errors.New("connection lost"))
	d.Clock.Step(time.Minute)
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoading || !strings.Contains(ready.Message, "its signed requests are not renewed: eu-1 does not answer") {
		t.Errorf("%+v", ready)
	}
	d.process.Refuse("create secrets", nil)
	after(0, true, "after the member did not answer")
	pod := d.RunJob(t)
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: jobs.FetchContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
	}}
	if err := d.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	after(dumps.Life, false, "once the dump is there")
	if err := d.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

// formerJob checks that a Restore that the build before began, with a Job for each attempt, ends with the Job that it
// has, or goes on with one that counts its attempts itself.
func (d *dumpTest) formerJob(t *testing.T) {
	d.reset(t, elsewhere)
	d.until(t, v1.ReasonLoading)
	r, job := d.restore(t), d.job(t)
	ending := "-restore-" + objectparts.Hash(string(r.UID))
	former := func(attempt string) *batchv1.Job {
		t.Helper()
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Labels: job.Labels}, Spec: job.Spec}
		j.Name = objectparts.Name(backupenv.Shop, ending+attempt, objectparts.MaxName)
		j.Spec.Selector, j.Spec.Template.Labels = nil, nil
		d.MustCreate(t, j)
		return j
	}
	if err := errors.Join(d.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)), memberjob.DeleteOrder(t.Context(), d, client.ObjectKeyFromObject(job))); err != nil {
		t.Fatal(err)
	}
	former("-0")
	d.end(t, jobs.FetchContainer, order.ExitRefused)
	last := former("-1")
	r.Status.Dump.Job, r.Status.Dump.Attempt, r.Status.Dump.ExpirationTime = last.Name, 1, nil
	if err := d.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoading || !strings.Contains(ready.Message, last.Name) || d.orderOf(t, last.Name) != "" {
		t.Errorf("%+v", ready)
	}
	d.end(t, jobs.FetchContainer, order.ExitRefused)
	d.until(t, v1.ReasonRetrying)
	d.until(t, v1.ReasonLoading)
	if s := d.restore(t).Status.Dump; s.Job != job.Name || s.Attempt != 2 || d.orderOf(t, job.Name) == "" {
		t.Errorf("%+v", s)
	}
	d.endLoad(t, 0)
	d.until(t, v1.ReasonCompleted)
	d.expectNothingLeft(t)
}
