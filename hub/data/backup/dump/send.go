package dump

import (
	"cmp"
	"context"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// memberTimeout bounds the requests of one pass to a member.
	memberTimeout = 20 * time.Second
	// signLimit is how long a pass may take until the requests are signed.
	signLimit = 3 * time.Minute
	// maxCreateWait is the longest wait after the Job could not be created, which grows with the
	// age of the dump: each time, the bucket is listed and what is missing is signed.
	maxCreateWait = steps.Refused
	// maxRetryWait is the longest wait for another Job, which grows from steps.Transient.
	maxRetryWait = 30 * time.Minute
)

// Sender uploads the dump of a Backup to a bucket, for one pass.
type Sender struct {
	// Backup has a complete dump. Its status is updated. Required.
	Backup *v1.Backup
	// Bucket is the bucket of the account in the status. Required.
	Bucket accounts.Bucket
	// Owner is the hub and the application that the dump belongs to. Required.
	Owner cloud.Owner
	// Image is the image of the spoke. Required.
	Image string
	// Reader reads from the member's API server, and Writer writes to it. Required.
	Reader client.Reader
	Writer client.Writer
	// SaveStatus saves the Backup's status. Required.
	SaveStatus func(context.Context) error
	// Now is the time.
	Now time.Time
}

// Advance uploads the dump by a Job, and makes another one if that has failed, until all of it is in the bucket. The zero
// Result means that the dump and its manifest are there. SaveStatus is the only source of errors.
func (s Sender) Advance(ctx context.Context) (steps.Result, error) {
	o := s.Backup.Status.Dump.Object
	if o == nil {
		o = &v1.DumpObject{Bucket: s.Bucket.Name, Location: s.Bucket.Location, Prefix: dumps.Prefix(s.Owner, s.Backup)}
		s.Backup.Status.Dump.Object = o
	}
	switch {
	case o.State == v1.DumpSent:
		return steps.Result{}, nil
	case !s.Bucket.Has(o):
		return steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady,
			"parts of the dump are in %s, and the CloudAccount %q has another bucket or prefix now", cmp.Or(o.Location, o.Bucket), s.Backup.Status.Account), nil
	}
	memberCtx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	job, err := findSendJob(memberCtx, s.Reader, s.Backup)
	switch {
	case apierrors.IsNotFound(err):
		// It was not created, or its result is unknown. Sending again uploads nothing twice.
		return s.deliver(ctx, nil)
	case err != nil:
		return s.memberError(err), nil
	case job.Labels[v1.BackupLabel] != objectparts.LabelValue(s.Backup.Name):
		return steps.Fail(v1.ReasonSendFailed, "the Job %s belongs to another Backup", job.Name), nil
	case !job.DeletionTimestamp.IsZero():
		return steps.RetryAfter(steps.PollFirst, v1.ReasonRetrying, "waiting for the Job %s to be deleted, before another one sends the dump", job.Name), nil
	}
	out, err := memberjob.ReadResult(memberCtx, s.Reader, job)
	switch {
	case err != nil:
		return s.memberError(err), nil
	case !out.Ended && job.Name == sendKey(s.Backup).Name && (o.ExpirationTime == nil || !s.Now.Before(o.ExpirationTime.Add(-cloud.MaxLife/2))):
		return s.deliver(ctx, job)
	case !out.Ended && out.ExitCode > 0:
		return s.sending(job.Name, cmp.Or(out.Message, out.Why)), nil
	case !out.Ended:
		return s.sending(job.Name, out.Why), nil
	}
	if err := memberjob.DeleteOrder(memberCtx, s.Writer, client.ObjectKeyFromObject(job)); err != nil && !apierrors.IsForbidden(err) {
		return s.memberError(err), nil
	}
	return s.resultOf(ctx, job, out), nil
}

// resultOf returns the result for a Job that has ended.
func (s Sender) resultOf(ctx context.Context, job *batchv1.Job, out memberjob.Outcome) steps.Result {
	switch {
	case out.Succeeded:
		sealed, err := dumps.Seal(ctx, s.Bucket, s.Owner.Hub, s.Backup)
		if err != nil {
			return s.classify(err, "completing the dump in the bucket")
		}
		if sealed {
			o := s.Backup.Status.Dump.Object
			o.State, o.ExpirationTime = v1.DumpSent, nil
			return steps.Result{}
		}
		return s.retry(ctx, job, "the Job %s sent the dump, and not all of it is in the bucket", job.Name)
	case out.ExitCode == order.ExitFinal || out.ExitCode == order.ExitGone:
		s.Backup.Status.Dump.Object.ExpirationTime = nil
		reason := v1.ReasonDumpFailed // The file is not the dump: it cannot be restored from its claim either.
		if out.ExitCode == order.ExitGone {
			reason = v1.ReasonDumpMissing
		}
		return steps.Fail(reason, "the Job %s cannot send the dump: %s", job.Name, cmp.Or(out.Message, out.Why))
	case out.ExitCode == order.ExitChecksums:
		return s.takeChecksums(ctx, job)
	default:
		return s.retry(ctx, job, "the Job %s has not sent all of the dump: %s", job.Name, cmp.Or(out.Message, out.Why, "it does not say why"))
	}
}

// takeChecksums stores the checksums that a Job found, with which the next one sends.
func (s Sender) takeChecksums(ctx context.Context, job *batchv1.Job) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	ends, err := memberjob.Ends(ctx, s.Reader, job)
	if err != nil {
		return s.memberError(err)
	}
	said := ""
	if len(ends) > 0 {
		said = ends[len(ends)-1].Message
	}
	sums, err := order.ReadChecksums(said, len(order.Sizes(s.Backup.Status.Dump.Bytes)))
	if err != nil {
		return s.retry(ctx, job, "the bucket takes parts with checksums only, and the Job %s does not say them", job.Name)
	}
	s.Backup.Status.Dump.Object.Checksums = sums.String()
	result := s.retry(ctx, job, "the bucket takes parts with checksums only: the next Job sends those that the Job %s found", job.Name)
	result.Wait = steps.PollFirst
	return result
}

// retry deletes a Job that did not send all of it after all of its attempts, counts it, and waits for the next one:
// the longer the more there were.
func (s Sender) retry(ctx context.Context, job *batchv1.Job, format string, args ...any) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if err := memberjob.Stop(ctx, s.Writer, job); err != nil && !apierrors.IsForbidden(err) {
		return s.memberError(err)
	}
	o := s.Backup.Status.Dump.Object
	wait := maxRetryWait
	if o.Attempt < 8 {
		wait = min(steps.Transient<<o.Attempt, maxRetryWait)
	}
	o.Attempt++
	o.ExpirationTime = nil
	return steps.RetryAfter(wait, v1.ReasonRetrying, format, args...)
}

// deliver makes the Job that sends what is missing, or renews the order of one that runs. When the requests expire is
// written down before any pod has them.
func (s Sender) deliver(ctx context.Context, running *batchv1.Job) (steps.Result, error) {
	o := s.Backup.Status.Dump.Object
	app, result := s.copyInMember(ctx)
	if result.Stops() {
		return result, nil
	}
	upload, err := dumps.ToSend(ctx, s.Bucket, s.Backup.Status.Dump, s.Bucket.CABundle, s.Now)
	if err != nil {
		return s.classify(err, "preparing to send the dump"), nil
	}
	job, secret, err := s.job(app, upload)
	if err != nil {
		return steps.Fail(v1.ReasonSendFailed, "no Job can send the dump: %v", err), nil
	}
	// No pod has the signed requests yet. A recorded time that is late enough for them remains,
	// so that a pass soon after one that could not create the Job writes nothing.
	o.State = v1.DumpSending
	if o.ExpirationTime == nil || o.ExpirationTime.Time.Before(s.Now.Add(dumps.Life+signLimit)) {
		o.ExpirationTime = v1.Seconds(s.Now.Add(cloud.MaxLife))
	}
	if err := s.SaveStatus(ctx); err != nil {
		return steps.Result{}, err
	}
	memberCtx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if running != nil {
		err = memberjob.WriteOrder(memberCtx, s.Writer, secret)
	} else {
		err = memberjob.Create(memberCtx, s.Writer, job, secret)
	}
	if err != nil {
		result := s.memberError(err)
		result.Wait = max(result.Wait, min(s.Now.Sub(s.Backup.Status.SnapshotTime.Time)/10, maxCreateWait))
		return result, nil
	}
	return s.sending(job.Name, ""), nil
}

// job returns the Job that carries out an order, and the Secret with the order.
func (s Sender) job(app *v1.EcommerceApp, upload order.Order) (*batchv1.Job, *corev1.Secret, error) {
	text, err := upload.Write()
	if err != nil {
		return nil, nil, err
	}
	var pods v1.PodSettings
	if database := app.Spec.Database; database != nil {
		pods = database.PodSettings
	}
	return jobs.Send(jobs.SendSpec{
		Job: jobs.Job{
			Namespace: s.Backup.Namespace, Name: sendKey(s.Backup).Name, Owners: []metav1.OwnerReference{{
				APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: app.Name, UID: app.UID,
			}},
			Labels: map[string]string{
				v1.BackupLabel: objectparts.LabelValue(s.Backup.Name), v1.InstanceLabel: objectparts.LabelValue(s.Backup.Spec.AppRef.Name),
			},
			UserIDs: app.Spec.Security.PodUserIDs,
		},
		Image: objectparts.Image(app.Spec.ImageRegistry, s.Image), Order: text, Claim: s.Backup.Status.Dump.Claim, Pods: pods,
	})
}

// copyInMember returns the copy that Job and Secret belong to.
func (s Sender) copyInMember(ctx context.Context) (*v1.EcommerceApp, steps.Result) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	app := &v1.EcommerceApp{}
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: s.Backup.Namespace, Name: s.Backup.Spec.AppRef.Name}, app)
	switch {
	case apierrors.IsNotFound(err):
		return nil, steps.Fail(v1.ReasonSendFailed, "the application is not in %s any more", s.Backup.Spec.ClusterRef.Name)
	case err != nil:
		return nil, s.memberError(err)
	}
	return app, steps.Result{}
}

// sendKey returns the key of the Job that uploads a dump, and of its Secret.
func sendKey(b *v1.Backup) client.ObjectKey { return sendKeyWith(b, "-send") }

// sendKeyWith returns such a key with an ending.
func sendKeyWith(b *v1.Backup, ending string) client.ObjectKey {
	base := b.Status.Dump.Job
	if base == "" { // Of a release that did not write it down.
		base = Maker{Backup: b}.jobName()
	}
	return client.ObjectKey{Namespace: b.Namespace, Name: objectparts.Name(base, ending, objectparts.MaxName)}
}

// findSendJob reads the Job that uploads a dump. One of the build before, which had a name for each attempt, is followed
// to its end.
func findSendJob(ctx context.Context, reader client.Reader, b *v1.Backup) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := reader.Get(ctx, sendKey(b), job)
	if apierrors.IsNotFound(err) && b.Status.Dump.Object.ExpirationTime != nil {
		err = reader.Get(ctx, sendKeyWith(b, "-send-"+strconv.Itoa(int(b.Status.Dump.Object.Attempt))), job)
	}
	return job, err
}

func (s Sender) sending(job, why string) steps.Result {
	age := s.Now.Sub(s.Backup.Status.Dump.Object.ExpirationTime.Add(-cloud.MaxLife))
	if why != "" {
		return steps.RetryAfter(steps.Poll(age), v1.ReasonSending, "the Job %s is to send the dump, and waits: %s", job, why)
	}
	return steps.RetryAfter(steps.Poll(age), v1.ReasonSending, "the Job %s sends the dump", job)
}

func (s Sender) memberError(err error) steps.Result {
	return memberError(s.Backup.Spec.ClusterRef.Name, "Jobs and Secrets", err)
}

// classify returns the result for an error of the bucket. A missing bucket is waited for.
func (s Sender) classify(err error, what string) steps.Result {
	result := dumps.FromError(err, what)
	if cloud.ClassOf(err) == cloud.ClassNotFound && result.Fatal {
		return steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady, "%s: the bucket %s is not there", what, s.Bucket.Name)
	}
	return result
}
