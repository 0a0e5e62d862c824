package restore

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/meta"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// made holds the objects to create in the member for an attempt; claim and secret may be
// nil.
type made struct {
	job    *batchv1.Job
	secret *corev1.Secret
	claim  *corev1.PersistentVolumeClaim
}

// begin makes the Job of an attempt when the database is ready for it, after it was
// written down. An error is one of the hub's API server.
func (r dumpLoad) begin(ctx context.Context) (steps.Result, error) {
	if v := r.isReady(ctx); v.Stops() {
		return v, nil
	}
	// Of a Job that is being deleted, or was.
	running, err := r.running(ctx)
	if err != nil {
		return r.memberError(err), nil
	}
	if running {
		return steps.Hold(steps.PollFirst, v1.ReasonLoading, "waiting in %s for the last attempt to end", r.member.Name), nil
	}
	if v := r.chooseSource(ctx); v.Stops() {
		return v, nil
	}
	wanted, v := r.make(ctx)
	if v.Stops() {
		return v, nil
	}
	d := r.restore.Status.Dump
	d.Job, d.Started = wanted.job.Name, true
	if d.RequestTime == nil {
		d.RequestTime = v1.Seconds(r.now)
	}
	if wanted.claim != nil {
		d.Claim = wanted.claim.Name
	}
	if err := r.save(ctx); err != nil {
		return steps.Result{}, err
	}
	if err := r.deliver(ctx, r.writer(), wanted); err != nil {
		return r.undelivered(err), nil
	}
	d.RequestTime = nil
	return steps.Hold(steps.PollFirst, v1.ReasonLoading, "the Job %s in %s is about to load the dump", d.Job, r.member.Name), nil
}

// tryDelivery reports whether the member accepts what an attempt takes, without creating it. A
// rejection is waited for while nothing is stopped yet.
func (r dumpLoad) tryDelivery(ctx context.Context) steps.Result {
	wanted, v := r.make(ctx)
	if v.Stops() {
		return v
	}
	err := r.deliver(ctx, client.NewDryRunClient(r.targetFacts.cluster.GetClient()), wanted)
	if client.IgnoreAlreadyExists(err) != nil {
		return r.deliveryError(err)
	}
	return steps.Result{}
}

// undelivered returns the result for a Job that could not be created. A rejection fails the
// Restore of an application, and so does any other error after startLimit, because the
// workloads that use the database must not stay stopped until a user has looked; tryDelivery
// asked before they were.
func (r dumpLoad) undelivered(err error) steps.Result {
	v, d := r.deliveryError(err), r.restore.Status.Dump
	left := startLimit - r.since(d.RequestTime.Time)
	switch {
	case r.restore.Spec.Verify, v.Reason == v1.ReasonPaused:
		return v
	case apierror.Decide(err).Blocking:
		return steps.Fail(v.Reason, "%s", v.Message)
	case left < 0:
		return steps.Fail(v1.ReasonLoadFailed, "the Job %s in %s could not be created within %s: %s", d.Job, r.member.Name, startLimit, v.Message)
	default:
		return v.Within(left)
	}
}

// deliveryError returns the result for an error of deliver.
func (r dumpLoad) deliveryError(err error) steps.Result {
	v := r.memberError(err)
	switch apierror.Classify(err) {
	case apierror.Forbidden, apierror.NamespaceTerminating:
		return steps.Hold(v.Wait, v1.ReasonForbidden, "%s rejects the Job, its claim or its Secret: run kubectl shopfleet join again, or look at the quotas of the namespace %s",
			r.member.Name, r.into.Owner.Namespace)
	case apierror.Invalid:
		v.Message = r.member.Name + " rejects the Job, the claim or the Secret"
		return v
	default:
		return v
	}
}

func (r dumpLoad) deliver(ctx context.Context, writer client.Writer, wanted made) error {
	if wanted.claim != nil {
		err := writer.Create(ctx, wanted.claim, client.FieldOwner(v1.HubFieldManager))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the claim %s: %w", wanted.claim.Name, err)
		}
	}
	return dumps.Deliver(ctx, writer, wanted.job, wanted.secret)
}

// make returns what the next attempt takes.
func (r dumpLoad) make(ctx context.Context) (made, steps.Result) {
	d, dump := r.restore.Status.Dump, r.backup.Status.Dump
	spec := jobs.LoadSpec{
		Job:      jobs.Job{Namespace: r.into.Owner.Namespace, Name: r.jobName(d.Attempt), Labels: r.labels(), Owners: r.owners()},
		Database: r.into, File: dump.File, SHA256: dump.SHA256, Bytes: dump.Bytes, Claim: dump.Claim, Overwrite: r.restore.Spec.Overwrite && !r.restore.Spec.Verify,
	}
	wanted := made{}
	if d.From == v1.DumpFromBucket {
		text, v := r.order(ctx)
		if v.Stops() {
			return made{}, v
		}
		holder := spec.Job
		holder.Name = r.name("")
		wanted.claim = jobs.Claim(jobs.ClaimSpec{Job: holder, Bytes: dump.Bytes, StorageClass: r.into.StorageClass})
		spec.Claim, spec.Fetch = wanted.claim.Name, &jobs.Fetch{Image: meta.Image(r.into.Registry, r.options.SpokeImage), Order: text}
	}
	var err error
	if wanted.job, wanted.secret, err = jobs.Load(spec); err != nil {
		return made{}, steps.Fail(v1.ReasonInvalidSpec, "the dump cannot be loaded: %v", err)
	}
	wanted.job.Spec.TTLSecondsAfterFinished = new(int32(keepSeconds))
	return wanted, steps.Result{}
}

// owners returns the owner references of what is created: the copy, which a verification has
// not.
func (r dumpLoad) owners() []metav1.OwnerReference {
	copied := r.targetFacts.copy
	if copied == nil {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: copied.Name, UID: copied.UID}}
}

// order returns the order that brings the dump from its bucket. It is a secret.
func (r dumpLoad) order(ctx context.Context) ([]byte, steps.Result) {
	bucket, v := r.open(ctx)
	if v.Stops() {
		return nil, v
	}
	o, err := dumps.ToFetch(ctx, bucket, r.backup.Status.Dump, bucket.CABundle, r.now)
	if err != nil {
		return nil, dumps.FromError(err, "downloading the dump from the bucket")
	}
	text, err := o.Write()
	if err != nil {
		return nil, steps.Fail(v1.ReasonLoadFailed, "the dump cannot be downloaded from the bucket: %v", err)
	}
	return text, steps.Result{}
}

// open returns the bucket that the dump is in.
func (r dumpLoad) open(ctx context.Context) (accounts.Bucket, steps.Result) {
	account, dump := r.backup.Status.Account, r.backup.Status.Dump
	bucket, err := r.options.Accounts.Bucket(ctx, account)
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
func (r dumpLoad) there(ctx context.Context) steps.Result {
	bucket, v := r.open(ctx)
	if v.Stops() {
		return v
	}
	if _, err := dumps.Find(ctx, bucket, r.backup.Status.Dump.Object.Prefix); err != nil {
		return dumps.FromError(err, "looking for the dump in the bucket")
	}
	return steps.Result{}
}
