package logical

import (
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/cleanup"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

// keepSeconds is for how long a Job stays that nobody takes away: longer than a hub may be
// away, which would otherwise not learn that the dump is loaded.
const keepSeconds = 7 * 24 * 60 * 60

// Run is one look at the way of a dump into a database. What is not said to be optional
// is required.
type Run struct {
	// Restore is whose status.dump is brought up to date, Backup is what is restored.
	Restore *v1.Restore
	Backup  *v1.Backup
	// Into is the database. Owner.Name and Owner.Namespace are enough for Tidy.
	Into database.Spec
	// Owners holds the owner references of the Job and of the objects that belong to it;
	// optional.
	Owners []metav1.OwnerReference
	// Overwrite allows to replace what the database has.
	Overwrite bool
	// Cluster is the name of the member, for messages. Here tells that the dump was made in
	// the namespace of the database.
	Cluster string
	Here    bool
	// Reader asks the member's API server, and Writer writes there.
	Reader client.Reader
	Writer client.Writer
	// Bucket returns the bucket of an account.
	Bucket func(ctx context.Context, account string) (accounts.Bucket, error)
	// Image is that of the spoke. Empty: nothing can be brought from a bucket.
	Image string
	// Ready reports whether the database can be loaded now.
	Ready func(ctx context.Context) stepresult.Result
	// Save writes the status down. It fails when the Restore was not read as it is by now.
	Save func(ctx context.Context) error
	// Note is that of cleanup.Member; optional.
	Note func(ctx context.Context, claim, volume string) error
	// Now is the time.
	Now time.Time
}

// Choose decides where the dump is read, and begins status.dump. Nothing is changed yet.
func (r Run) Choose(ctx context.Context) stepresult.Result {
	at := Target{Here: r.Here}
	if d := r.Restore.Status.Dump; d != nil {
		at.Last = d.From
	}
	if dump := r.Backup.Status.Dump; r.Here && dump != nil {
		key := client.ObjectKey{Namespace: r.Into.Owner.Namespace, Name: dump.Claim}
		err := r.Reader.Get(ctx, key, &corev1.PersistentVolumeClaim{})
		if client.IgnoreNotFound(err) != nil {
			return r.trouble(err)
		}
		at.Claim = err == nil
	}
	from, v := Source(r.Backup, at)
	if v.Stops() {
		return v
	}
	if from == v1.DumpFromBucket && r.Image == "" {
		return stepresult.Fail(v1.ReasonDumpMissing, "the dump is in a bucket, and this hub does not know the image that brings it: start it with --spoke-image")
	}
	if r.Restore.Status.Dump == nil {
		if from == v1.DumpFromBucket {
			if v := r.there(ctx); v.Stops() {
				return v
			}
		}
		r.Restore.Status.Dump = &v1.RestoredDump{}
	}
	r.Restore.Status.Dump.From = from
	return stepresult.Result{}
}

// startLimit is how long a Job may wait for a node, a volume or an image.
const startLimit = 15 * time.Minute

// Load has the dump loaded, and looks how far that is. The zero Result means that it is.
// An error is one of the hub's API server. Choose comes first.
func (r Run) Load(ctx context.Context) (stepresult.Result, error) {
	d := r.Restore.Status.Dump
	if d.Loaded {
		return stepresult.Result{}, nil
	}
	if d.Job == "" {
		return r.begin(ctx)
	}
	job := &batchv1.Job{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Into.Owner.Namespace, Name: d.Job}, job)
	switch {
	case apierrors.IsNotFound(err):
		d.Job = "" // There is none: it is not waited for without end.
		return r.begin(ctx)
	case err != nil:
		return r.trouble(err), nil
	case job.Labels[v1.RestoreLabel] != r.labels()[v1.RestoreLabel]:
		return stepresult.Fail(v1.ReasonLoadFailed, "the Job %s in %s is not that of this Restore", d.Job, r.Cluster), nil
	}
	return r.observe(ctx, job), nil
}

// follow looks how far a Job is, and decides what follows when it has ended.
func (r Run) observe(ctx context.Context, job *batchv1.Job) stepresult.Result {
	outcome, err := logicalbackup.Look(ctx, r.Reader, job)
	if err != nil {
		return r.trouble(err)
	}
	if !outcome.Ended {
		v := stepresult.Hold(stepresult.Poll(r.Now.Sub(job.CreationTimestamp.Time)), v1.ReasonLoading, "the Job %s in %s loads the dump", job.Name, r.Cluster)
		switch {
		case outcome.Why == "":
		case outcome.Container == "" && r.Now.Sub(job.CreationTimestamp.Time) > startLimit:
			// What uses the database is stopped meanwhile.
			return stepresult.Fail(v1.ReasonLoadFailed, "the Job %s in %s could not start within %s: %s", job.Name, r.Cluster, startLimit, outcome.Why)
		default:
			v.Message += ": " + outcome.Why
		}
		return v
	}
	if err := logicalbackup.Withdraw(ctx, r.Writer, client.ObjectKeyFromObject(job)); err != nil && !apierrors.IsForbidden(err) {
		return r.trouble(err)
	}
	d := r.Restore.Status.Dump
	n := ending{
		engine: r.Backup.Status.Engine, from: d.From, sent: sent(r.Backup), attempt: d.Attempt, expired: expired(job), outcome: outcome,
	}.next()
	switch {
	case n.loaded:
		d.Loaded = true
		// Written down before anything follows from it.
		return stepresult.Hold(time.Second, v1.ReasonLoading, "the dump is loaded")
	case n.again:
		d.Attempt++
		d.Job = ""
		if n.bucket {
			d.From = v1.DumpFromBucket
		}
	}
	return n.result()
}

// expired reports whether a Job had no more time.
func expired(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return c.Reason == batchv1.JobReasonDeadlineExceeded
		}
	}
	return false
}

// Tidy takes away Jobs, orders and the claim that the dump was brought to. The zero
// Result means that they are gone.
func (r Run) Tidy(ctx context.Context) stepresult.Result {
	gone, err := r.stop(ctx)
	if d := r.Restore.Status.Dump; err == nil && gone && d != nil && d.Claim != "" {
		member := cleanup.Member{Reader: r.Reader, Writer: r.Writer, Now: r.Now, Note: r.Note}
		gone, err = member.Claim(ctx, client.ObjectKey{Namespace: r.Into.Owner.Namespace, Name: d.Claim})
	}
	switch {
	case err != nil:
		return r.trouble(err)
	case !gone:
		return stepresult.Hold(stepresult.PollFirst, v1.ReasonDeleting, "taking away in %s what the dump was loaded with", r.Cluster)
	default:
		return stepresult.Result{}
	}
}

// stop deletes the Jobs of a Restore, and reports whether none of them is at work any more.
func (r Run) stop(ctx context.Context) (stopped bool, err error) {
	d := r.Restore.Status.Dump
	if d == nil {
		return true, nil
	}
	stopped = true
	for attempt := range d.Attempt + 1 {
		gone, err := r.stopJob(ctx, client.ObjectKey{Namespace: r.Into.Owner.Namespace, Name: r.jobName(attempt)})
		if err != nil {
			return false, err
		}
		stopped = stopped && gone
	}
	running, err := r.running(ctx)
	return stopped && !running, err
}

// stopJob deletes one Job and its order, and reports whether it was gone before. What has
// ended, or expires, and may not be deleted, is left: it goes by itself.
func (r Run) stopJob(ctx context.Context, key client.ObjectKey) (gone bool, err error) {
	job := &batchv1.Job{}
	err = r.Reader.Get(ctx, key, job)
	gone = apierrors.IsNotFound(err)
	if err == nil {
		if err = logicalbackup.Stop(ctx, r.Writer, key); apierrors.IsForbidden(err) && ended(job) {
			gone, err = true, nil
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("ending the Job %s: %w", key.Name, err)
	}
	if err := logicalbackup.Withdraw(ctx, r.Writer, key); err != nil && !apierrors.IsForbidden(err) {
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
func (r Run) running(ctx context.Context) (bool, error) {
	pods := &corev1.PodList{}
	ours := client.MatchingLabels{v1.RestoreLabel: r.labels()[v1.RestoreLabel], v1.InstanceLabel: manifest.LabelValue(r.Into.Owner.Name)}
	if err := r.Reader.List(ctx, pods, client.InNamespace(r.Into.Owner.Namespace), ours); err != nil {
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

// name is that of what is made for a Restore: the same from whoever makes it.
func (r Run) name(suffix string) string {
	return manifest.Name(r.Into.Owner.Name, "-restore-"+manifest.Hash(string(r.Restore.UID))+suffix, manifest.MaxName)
}

func (r Run) jobName(attempt int32) string { return r.name("-" + strconv.Itoa(int(attempt))) }

func (r Run) labels() map[string]string {
	return map[string]string{v1.RestoreLabel: manifest.LabelValue(r.Restore.Name), v1.ManagedByLabel: v1.ManagedBy}
}

// trouble returns the result for an error of the member.
func (r Run) trouble(err error) stepresult.Result {
	switch {
	case apierrors.IsForbidden(err):
		return stepresult.Hold(stepresult.Refused, v1.ReasonForbidden, "the hub may not make and read Jobs, claims and pods in %s: run kubectl shopfleet join again", r.Cluster)
	case apierrors.IsConflict(err):
		return stepresult.Hold(stepresult.PollFirst, v1.ReasonRetrying, "somebody else changed something in %s at the same time", r.Cluster)
	case apierrors.IsInvalid(err):
		return stepresult.Hold(stepresult.Refused, v1.ReasonApplyFailed, "%s does not take the Job or the claim as it is", r.Cluster)
	default:
		return stepresult.Hold(stepresult.Member, v1.ReasonClusterUnreachable, "%s does not answer", r.Cluster)
	}
}
