package restore

import (
	"context"
	"fmt"
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
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// made holds the objects to create in the member for a load; claim and secret may be nil.
type made struct {
	job    *batchv1.Job
	secret *corev1.Secret
	// expires is when the signed requests in the secret do.
	expires *metav1.Time
	claim   *corev1.PersistentVolumeClaim
}

// begin makes the Job when the database is ready for it, after it was
// written down. An error is one of the hub's API server.
func (l dumpLoad) begin(ctx context.Context) (steps.Result, error) {
	if result := l.isReady(ctx); result.Stops() {
		return result, nil
	}
	// Of a Job that is being deleted, or was.
	running, err := l.running(ctx)
	if err != nil {
		return l.memberError(err), nil
	}
	if running {
		return steps.RetryAfter(steps.PollFirst, v1.ReasonLoading, "waiting in %s for the last Job to end", l.member.Name), nil
	}
	if result := l.chooseSource(ctx); result.Stops() {
		return result, nil
	}
	wanted, result := l.make(ctx)
	if result.Stops() {
		return result, nil
	}
	d := l.restore.Status.Dump
	d.Job, d.Started = wanted.job.Name, true
	if d.RequestTime == nil {
		d.RequestTime = v1.Seconds(l.now)
	}
	if wanted.claim != nil {
		d.Claim = wanted.claim.Name
	}
	if err := l.save(ctx); err != nil {
		return steps.Result{}, err
	}
	if err := l.deliver(ctx, l.writer(), wanted); err != nil {
		return l.undelivered(err), nil
	}
	d.RequestTime, d.ExpirationTime = nil, wanted.expires
	return steps.RetryAfter(steps.PollFirst, v1.ReasonLoading, "the Job %s in %s is about to load the dump", d.Job, l.member.Name), nil
}

// tryDelivery reports whether the member accepts what a load takes, without creating it. A
// rejection is waited for while nothing is stopped yet.
func (l dumpLoad) tryDelivery(ctx context.Context) steps.Result {
	wanted, result := l.make(ctx)
	if result.Stops() {
		return result
	}
	err := l.deliver(ctx, client.NewDryRunClient(l.targetFacts.cluster.GetClient()), wanted)
	if client.IgnoreAlreadyExists(err) != nil {
		return l.deliveryError(err)
	}
	return steps.Result{}
}

// undelivered returns the result for a Job that could not be created. A rejection fails the
// Restore of an application, and so does any other error after startLimit, because the
// workloads that use the database must not stay stopped until a user has looked; tryDelivery
// asked before they were.
func (l dumpLoad) undelivered(err error) steps.Result {
	result, d := l.deliveryError(err), l.restore.Status.Dump
	left := startLimit - l.since(d.RequestTime.Time)
	switch {
	case l.restore.Spec.Verify, result.Reason == v1.ReasonPaused:
		return result
	case apierror.Decide(err).Blocking:
		return steps.Fail(result.Reason, "%s", result.Message)
	case left < 0:
		return steps.Fail(v1.ReasonLoadFailed, "the Job %s in %s could not be created within %s: %s", d.Job, l.member.Name, startLimit, result.Message)
	default:
		return result.Within(left)
	}
}

// deliveryError returns the result for an error of deliver.
func (l dumpLoad) deliveryError(err error) steps.Result {
	result := l.memberError(err)
	switch apierror.Classify(err) {
	case apierror.Forbidden, apierror.NamespaceTerminating:
		return steps.RetryAfter(result.Wait, v1.ReasonForbidden, "%s rejects the Job, its claim or its Secret: run kubectl shopfleet join again, or look at the quotas of the namespace %s",
			l.member.Name, l.into.Owner.Namespace)
	case apierror.Invalid:
		result.Message = l.member.Name + " rejects the Job, the claim or the Secret"
		return result
	default:
		return result
	}
}

func (l dumpLoad) deliver(ctx context.Context, writer client.Writer, wanted made) error {
	if wanted.claim != nil {
		err := writer.Create(ctx, wanted.claim, client.FieldOwner(v1.HubFieldManager))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the claim %s: %w", wanted.claim.Name, err)
		}
	}
	return memberjob.Create(ctx, writer, wanted.job, wanted.secret)
}

// make returns what a load takes.
func (l dumpLoad) make(ctx context.Context) (made, steps.Result) {
	d, dump := l.restore.Status.Dump, l.backup.Status.Dump
	spec := jobs.LoadSpec{
		Job:      jobs.Job{Namespace: l.into.Owner.Namespace, Name: l.jobName(d.From), Labels: l.labels(), Owners: l.owners()},
		Database: l.into, File: dump.File, SHA256: dump.SHA256, Bytes: dump.Bytes, Claim: dump.Claim, Overwrite: l.restore.Spec.Overwrite && !l.restore.Spec.Verify,
	}
	wanted := made{}
	if d.From == v1.DumpFromBucket {
		text, expires, result := l.order(ctx)
		if result.Stops() {
			return made{}, result
		}
		wanted.expires = v1.Seconds(expires)
		holder := spec.Job
		holder.Name = l.name("")
		bytes := dump.Bytes
		if l.restore.Spec.Verify {
			bytes += l.into.Storage.Value() // Of the database, which is beside the dump.
		}
		wanted.claim = jobs.Claim(jobs.ClaimSpec{Job: holder, Bytes: bytes, StorageClass: l.into.StorageClass})
		spec.Claim, spec.Fetch = wanted.claim.Name, &jobs.Fetch{Image: objectparts.Image(l.into.Registry, l.options.SpokeImage), Order: text}
	}
	render, err := jobs.Load, error(nil)
	if l.restore.Spec.Verify {
		render, spec.Labels[v1.InstanceLabel] = jobs.ProveDump, objectparts.LabelValue(l.into.Owner.Name)
	}
	if wanted.job, wanted.secret, err = render(spec); err != nil {
		return made{}, steps.Fail(v1.ReasonInvalidSpec, "the dump cannot be loaded: %v", err)
	}
	wanted.job.Spec.TTLSecondsAfterFinished = new(int32(keepSeconds))
	return wanted, steps.Result{}
}

// owners returns the owner references of what is created: the copy, which a verification has
// not.
func (l dumpLoad) owners() []metav1.OwnerReference {
	copied := l.targetFacts.copy
	if copied == nil {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: copied.Name, UID: copied.UID}}
}

// order returns the order that brings the dump from its bucket, and when it expires. It is a secret.
func (l dumpLoad) order(ctx context.Context) ([]byte, time.Time, steps.Result) {
	bucket, result := l.open(ctx)
	if result.Stops() {
		return nil, time.Time{}, result
	}
	o, err := dumps.ToFetch(ctx, bucket, l.backup.Status.Dump, bucket.CABundle, l.now)
	if err != nil {
		return nil, time.Time{}, dumps.FromError(err, "downloading the dump from the bucket")
	}
	text, err := o.Write()
	if err != nil {
		return nil, time.Time{}, steps.Fail(v1.ReasonLoadFailed, "the dump cannot be downloaded from the bucket: %v", err)
	}
	return text, o.ExpiresAt, steps.Result{}
}

// open returns the bucket that the dump is in.
func (l dumpLoad) open(ctx context.Context) (accounts.Bucket, steps.Result) {
	account, dump := l.backup.Status.Account, l.backup.Status.Dump
	bucket, err := l.options.Accounts.Bucket(ctx, account)
	switch {
	case cloud.ClassOf(err) == cloud.ClassUnsupported:
		return bucket, steps.Fail(v1.ReasonDumpMissing, "the dump is in the bucket %s, and CloudAccount %q has no spec.objectStorage any more", dump.Object.Bucket, account)
	case err != nil:
		return bucket, dumps.FromError(err, "connecting to the bucket")
	case bucket.Name != dump.Object.Bucket:
		return bucket, steps.Fail(v1.ReasonDumpMissing, "the dump is in the bucket %s, and CloudAccount %q names %s by now", dump.Object.Bucket, account, bucket.Name)
	default:
		return bucket, steps.Result{}
	}
}

// there reports whether the dump is in the bucket, before anything is stopped for it.
func (l dumpLoad) there(ctx context.Context) steps.Result {
	bucket, result := l.open(ctx)
	if result.Stops() {
		return result
	}
	dump := l.backup.Status.Dump
	m, err := dumps.Find(ctx, bucket, dump.Object.Prefix)
	if err != nil {
		return dumps.FromError(err, "looking for the dump in the bucket")
	}
	whole, err := dumps.IsWhole(ctx, bucket, dump.Object.Prefix, m)
	switch {
	case err != nil:
		return dumps.FromError(err, "looking for the dump in the bucket")
	case !whole:
		return steps.Fail(v1.ReasonDumpMissing, "the bucket %s does not have all parts of the dump any more", dump.Object.Bucket)
	}
	return steps.Result{}
}
