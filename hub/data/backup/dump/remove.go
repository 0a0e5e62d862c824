package dump

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// eraseAtOnce bounds how many objects one pass deletes.
const eraseAtOnce = 100

// Remover deletes the dump of a Backup from its bucket, for one pass.
type Remover struct {
	// Backup has the dump to delete. Its status says where it is. Required.
	Backup *v1.Backup
	// Bucket is the bucket of the account in the status. Required.
	Bucket accounts.Bucket
	// Reader reads from the member's API server, and Writer writes to it; nil while the
	// member does not respond.
	Reader client.Reader
	Writer client.Writer
	// Now is the time.
	Now time.Time
}

// Advance deletes the parts of the dump. The zero Result means that nothing is left, and
// that nothing more can come: while a Job, or another holder of its requests, may still
// send, the parts it sends would be left behind.
func (r Remover) Advance(ctx context.Context) steps.Result {
	o := r.Backup.Status.Dump.Object
	if !r.Bucket.Has(o) {
		return steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady,
			"the dump is in %s, and the CloudAccount %q has another bucket or prefix now: put that back, or set spec.deletion to Retain", cmp.Or(o.Location, o.Bucket), r.Backup.Status.Account)
	}
	// Asked before the list is read, which is then the last one.
	wait := r.uploadTime(ctx)
	more, err := dumps.Erase(ctx, r.Bucket, o.Prefix, eraseAtOnce)
	switch {
	case err != nil:
		return dumps.FromError(err, "deleting the dump")
	case more:
		return steps.RetryAfter(steps.PollFirst, v1.ReasonDeleting, "the dump is being deleted from the bucket %s", o.Bucket)
	case wait > 0:
		return steps.RetryAfter(min(wait, steps.Member), v1.ReasonDeleting, "waiting until nothing more can be sent to the bucket %s", o.Bucket)
	default:
		return steps.Result{}
	}
}

// uploadTime returns for how long parts may still be sent at most; 0 when none can be any
// more: the requests have expired, or the Job that has them is gone.
func (r Remover) uploadTime(ctx context.Context) time.Duration {
	o := r.Backup.Status.Dump.Object
	if o.ExpirationTime == nil || !r.Now.Before(o.ExpirationTime.Time) {
		if r.Writer != nil && o.State == v1.DumpSending {
			// An attempt that was not followed to its end leaves nothing of use.
			memberCtx, cancel := context.WithTimeout(ctx, memberTimeout)
			defer cancel()
			_ = memberjob.DeleteOrder(memberCtx, r.Writer, sendKey(r.Backup))
		}
		return 0
	}
	if r.Reader != nil && r.stopped(ctx) {
		return 0
	}
	return o.ExpirationTime.Sub(r.Now)
}

// stopped deletes the Job unless it has ended, and reports whether none of its pods runs any more
// and its order is deleted.
func (r Remover) stopped(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	key := sendKey(r.Backup)
	job, err := findSendJob(ctx, r.Reader, r.Backup)
	if err != nil && !apierrors.IsNotFound(err) {
		return false
	}
	if err == nil {
		key = client.ObjectKeyFromObject(job)
		if out, err := memberjob.ReadResult(ctx, r.Reader, job); err != nil || !out.Ended {
			// Where the hub may not, the requests expire.
			_ = memberjob.Stop(ctx, r.Writer, job)
			_ = memberjob.DeleteOrder(ctx, r.Writer, key)
			return false
		}
	}
	pods := &corev1.PodList{}
	if err := r.Reader.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels{"job-name": key.Name}); err != nil {
		return false
	}
	for i := range pods.Items {
		if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return false
		}
	}
	return memberjob.DeleteOrder(ctx, r.Writer, key) == nil
}
