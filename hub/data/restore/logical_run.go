package restore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// keepSeconds is how long a finished Job stays that the hub does not delete: longer than
// a hub may be down, which would otherwise not learn that the dump is loaded.
const keepSeconds = 7 * 24 * 60 * 60

// dumpLoad is the way of a dump into a database, in one pass over a Restore whose target is
// known.
type dumpLoad struct {
	*work

	// into is the database. Its owner is enough for tidy.
	into database.Spec
	// isReady reports whether the database can be loaded now. load needs it.
	isReady func(ctx context.Context) steps.Result
}

// here reports whether the dump was made in the cluster and namespace of the database.
func (l dumpLoad) here() bool {
	return !l.restore.Spec.Verify && l.member.Name == l.backup.Spec.ClusterRef.Name
}

// chooseSource decides where the dump is read, and begins status.dump. Nothing is changed yet.
func (l dumpLoad) chooseSource(ctx context.Context) steps.Result {
	at := dumpTarget{here: l.here()}
	if d := l.restore.Status.Dump; d != nil {
		at.last = d.From
	}
	if dump := l.backup.Status.Dump; l.here() && dump != nil {
		key := client.ObjectKey{Namespace: l.into.Owner.Namespace, Name: dump.Claim}
		err := l.reader().Get(ctx, key, &corev1.PersistentVolumeClaim{})
		if client.IgnoreNotFound(err) != nil {
			return l.memberError(err)
		}
		at.claim = err == nil
	}
	from, result := dumpSource(l.backup, at)
	if result.Stops() {
		return result
	}
	if from == v1.DumpFromBucket && l.options.SpokeImage == "" {
		return steps.Fail(v1.ReasonDumpMissing, "the dump is in a bucket, and this hub has no --spoke-image to download it with")
	}
	if l.restore.Status.Dump == nil {
		if from == v1.DumpFromBucket {
			if result := l.there(ctx); result.Stops() {
				return result
			}
		}
		l.restore.Status.Dump = &v1.RestoredDump{}
	}
	l.restore.Status.Dump.From = from
	return steps.Result{}
}

// startLimit is how long a Job may wait for its creation, and then for a node, a volume or an
// image.
const startLimit = 15 * time.Minute

// load has the dump loaded, and looks how far that is. The zero Result means that it is.
// An error is one of the hub's API server. chooseSource comes first.
func (l dumpLoad) load(ctx context.Context) (steps.Result, error) {
	d := l.restore.Status.Dump
	if d.Loaded {
		return steps.Result{}, nil
	}
	if d.Job == "" {
		return l.begin(ctx)
	}
	job := &batchv1.Job{}
	err := l.reader().Get(ctx, client.ObjectKey{Namespace: l.into.Owner.Namespace, Name: d.Job}, job)
	switch {
	case apierrors.IsNotFound(err):
		l.forgetJob() // There is none: it is not waited for without end.
		return l.begin(ctx)
	case err != nil:
		return l.memberError(err), nil
	case job.Labels[v1.RestoreLabel] != l.labels()[v1.RestoreLabel]:
		return steps.Fail(v1.ReasonLoadFailed, "the Job %s in %s is not that of this Restore", d.Job, l.member.Name), nil
	}
	d.RequestTime = nil
	return l.observe(ctx, job), nil
}

// observe looks how far a Job is, and decides what follows when it has ended.
func (l dumpLoad) observe(ctx context.Context, job *batchv1.Job) steps.Result {
	outcome, err := memberjob.ReadResult(ctx, l.reader(), job)
	switch {
	case err != nil:
		return l.memberError(err)
	case !outcome.Ended:
		return l.progress(ctx, job, outcome)
	}
	if err := memberjob.DeleteOrder(ctx, l.writer(), client.ObjectKeyFromObject(job)); err != nil && !apierrors.IsForbidden(err) {
		return l.memberError(err)
	}
	d := l.restore.Status.Dump
	outcome.Repeated = outcome.Repeated || d.Attempt > 0
	n := ending{
		engine: l.backup.Status.Engine, from: d.From, sent: sent(l.backup), former: slices.Contains(l.formerJobs(), d.Job),
		proof: l.restore.Spec.Verify, outcome: outcome,
	}.next()
	switch {
	case n.loaded:
		d.Loaded = true
		// Written down before anything follows from it.
		return steps.RetryAfter(time.Second, v1.ReasonLoading, "the dump is loaded")
	case n.again:
		l.forgetJob()
		if n.bucket {
			d.From = v1.DumpFromBucket
		}
	}
	return n.result()
}

// progress returns the result for a Job that has not ended, and renews its order.
func (l dumpLoad) progress(ctx context.Context, job *batchv1.Job, outcome memberjob.Outcome) steps.Result {
	result := steps.RetryAfter(steps.Poll(l.now.Sub(job.CreationTimestamp.Time)), v1.ReasonLoading, "the Job %s in %s loads the dump", job.Name, l.member.Name)
	switch {
	case !l.restore.Spec.Verify && outcome.Container == "" && outcome.Why != "" && l.since(job.CreationTimestamp.Time) > startLimit:
		// What uses the database is stopped meanwhile.
		return steps.Fail(v1.ReasonLoadFailed, "the Job %s in %s could not start within %s: %s", job.Name, l.member.Name, startLimit, outcome.Why)
	case outcome.ExitCode > 0:
		result.Message += ", again: " + words(outcome)
	case outcome.Why != "":
		result.Message += ": " + outcome.Why
	}
	if renewal := l.renew(ctx, job, outcome); renewal.Stops() {
		result.Message += "; its signed requests are not renewed: " + renewal.Message
	}
	return result
}

// renew replaces the order of a Job that downloads the dump, at half of its life. Until that succeeds, the Job
// has the requests of the last one.
func (l dumpLoad) renew(ctx context.Context, job *batchv1.Job, outcome memberjob.Outcome) steps.Result {
	d := l.restore.Status.Dump
	fetched := outcome.Container == jobs.FetchContainer && outcome.ExitCode == order.ExitDone
	if d.From != v1.DumpFromBucket || fetched || job.Name != l.jobName(d.From) ||
		d.ExpirationTime != nil && l.now.Before(d.ExpirationTime.Add(-dumps.Life/2)) {
		return steps.Result{}
	}
	wanted, result := l.make(ctx)
	if result.Stops() {
		return result
	}
	if err := memberjob.WriteOrder(ctx, l.writer(), wanted.secret); err != nil {
		return l.memberError(err)
	}
	d.ExpirationTime = wanted.expires
	return steps.Result{}
}

// tidy takes away Jobs, orders and the claim that the dump was brought to. The zero
// Result means that they are gone.
func (l dumpLoad) tidy(ctx context.Context) steps.Result {
	gone, err := l.stop(ctx)
	if d := l.restore.Status.Dump; err == nil && gone && d != nil && d.Claim != "" {
		gone, err = l.cleaner().claim(ctx, client.ObjectKey{Namespace: l.into.Owner.Namespace, Name: d.Claim})
	}
	switch {
	case err != nil:
		return l.memberError(err)
	case !gone:
		return steps.RetryAfter(steps.PollFirst, v1.ReasonDeleting, "taking away in %s what the dump was loaded with", l.member.Name)
	default:
		return steps.Result{}
	}
}

// stop deletes the Jobs of a Restore, and reports whether none of them is at work any more.
func (l dumpLoad) stop(ctx context.Context) (stopped bool, err error) {
	d := l.restore.Status.Dump
	if d == nil {
		return true, nil
	}
	stopped = true
	for _, name := range append(l.formerJobs(), l.jobName(v1.DumpFromClaim), l.jobName(v1.DumpFromBucket)) {
		gone, err := l.stopJob(ctx, client.ObjectKey{Namespace: l.into.Owner.Namespace, Name: name})
		if err != nil {
			return false, err
		}
		stopped = stopped && gone
	}
	running, err := l.running(ctx)
	return stopped && !running, err
}

// stopJob deletes one Job and its order, and reports whether it was gone before. What has
// ended, or expires, and may not be deleted, is left: it goes by itself.
func (l dumpLoad) stopJob(ctx context.Context, key client.ObjectKey) (gone bool, err error) {
	job := &batchv1.Job{}
	err = l.reader().Get(ctx, key, job)
	gone = apierrors.IsNotFound(err)
	if err == nil {
		if err = memberjob.Stop(ctx, l.writer(), job); apierrors.IsForbidden(err) && ended(job) {
			gone, err = true, nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("ending the Job %s: %w", key.Name, err)
	}
	if err := memberjob.DeleteOrder(ctx, l.writer(), key); err != nil && !apierrors.IsForbidden(err) {
		return false, err
	}
	return gone, nil
}

// ended reports whether a Job has ended.
func ended(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// running reports whether a pod of this Restore may still be at work.
func (l dumpLoad) running(ctx context.Context) (bool, error) {
	pods := &corev1.PodList{}
	ours := client.MatchingLabels{v1.RestoreLabel: l.labels()[v1.RestoreLabel], v1.InstanceLabel: objectparts.LabelValue(l.into.Owner.Name)}
	if err := l.reader().List(ctx, pods, client.InNamespace(l.into.Owner.Namespace), ours); err != nil {
		return false, fmt.Errorf("listing the pods that load: %w", err)
	}
	return anyAlive(pods.Items), nil
}

// anyAlive reports whether any of some pods has not ended.
func anyAlive(pods []corev1.Pod) bool {
	for i := range pods {
		if phase := pods[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return true
		}
	}
	return false
}

// name returns the name of an object that is created for a Restore, the same in each
// process that computes it.
func (l dumpLoad) name(suffix string) string {
	return objectparts.Name(l.into.Owner.Name, "-restore-"+objectparts.Hash(string(l.restore.UID))+suffix, objectparts.MaxName)
}

// jobName returns the name of the Job that loads the dump from a source.
func (l dumpLoad) jobName(from v1.DumpSource) string {
	return l.name("-" + strings.ToLower(string(from)))
}

// formerJobs returns the names of the Jobs of a Restore that the build before began. It made one for each attempt,
// and counted those that failed in the status.
func (l dumpLoad) formerJobs() []string {
	d := l.restore.Status.Dump
	var names []string
	for attempt := range d.Attempt + 1 {
		if name := l.name("-" + strconv.Itoa(int(attempt))); attempt < d.Attempt || name == d.Job {
			names = append(names, name)
		}
	}
	return names
}

// forgetJob has another Job made. One of the build before remains among formerJobs.
func (l dumpLoad) forgetJob() {
	d := l.restore.Status.Dump
	if slices.Contains(l.formerJobs(), d.Job) {
		d.Attempt++
	}
	d.Job, d.ExpirationTime = "", nil
}

func (l dumpLoad) labels() map[string]string {
	return map[string]string{v1.RestoreLabel: objectparts.LabelValue(l.restore.Name), v1.ManagedByLabel: v1.ManagedBy}
}

// memberError returns the result for an error of the member.
func (l dumpLoad) memberError(err error) steps.Result {
	return steps.FromMember(err, l.member.Name, "create and read Jobs, claims and pods")
}
