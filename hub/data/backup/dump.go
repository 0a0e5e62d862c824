package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/backup/dump"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// canDump reports whether a dump can be made at all: with the member's CronJob.
func canDump(b *v1.Backup, app *v1.EcommerceApp, member *v1.MemberCluster) steps.Result {
	policy := app.Spec.Database.Backup
	switch {
	case len(b.Spec.CopyToRegions) > 0:
		return steps.Fail(v1.ReasonInvalidSpec, "dumps are not copied to regions: make a Backup without copyToRegions")
	case !policy.Enabled:
		return steps.Fail(v1.ReasonCronJobNotFound, "EcommerceApp %q has no CronJob to dump with: set spec.database.backup.enabled", app.Name)
	case csi.BySnapshots(policy.Method, member):
		return steps.Fail(v1.ReasonCronJobNotFound, "databases in %s are backed up by snapshots: make a Backup of the method Snapshot", member.Name)
	default:
		return steps.Result{}
	}
}

// isDumped reports whether the dump of a Backup is complete in its cluster.
func isDumped(b *v1.Backup) bool {
	return b.Status.Dump != nil && b.Status.Dump.File != "" && b.Status.SnapshotTime != nil
}

// makeDump advances the dump in the member until it is complete.
func (w *work) makeDump(ctx context.Context) (steps.Result, error) {
	if isDumped(w.backup) {
		return steps.Result{}, nil
	}
	result := w.runDump(ctx)
	if w.backup.Status.Dump == nil {
		return w.limitToSnapshot(result), nil
	}
	return w.limitToCompletion(result), nil
}

// sendDump advances the upload of the dump to the bucket, if there is one. A dump that cannot be
// uploaded stays valid in its cluster, unless its file was replaced or deleted.
func (w *work) sendDump(ctx context.Context) (steps.Result, error) {
	result, err := w.send(ctx)
	result = w.limitToCompletion(result)
	if result.Fatal && result.Reason != v1.ReasonDumpFailed && result.Reason != v1.ReasonDumpMissing {
		w.unsent = "the dump is not in the bucket: " + result.Message
		return steps.Result{}, err
	}
	return result, err
}

func (w *work) runDump(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return w.memberError(err)
	}
	return dump.Maker{Backup: w.backup, Reader: member.GetAPIReader(), Writer: member.GetClient(), Now: w.now}.Advance(ctx)
}

// send sends a dump that is complete to the bucket of the member's account. Once that has
// begun, later changes of the member do not matter to it any more.
func (w *work) send(ctx context.Context) (steps.Result, error) {
	s := &w.backup.Status
	account := s.Account
	if s.Dump.Object == nil {
		member := &v1.MemberCluster{}
		if err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Spec.ClusterRef.Name}, member); err != nil {
			if apierrors.IsNotFound(err) {
				return steps.Fail(v1.ReasonClusterDetached, "there is no MemberCluster %q any more", w.backup.Spec.ClusterRef.Name), nil
			}
			return steps.Result{}, fmt.Errorf("getting the member: %w", err)
		}
		if member.Spec.CloudAccountRef == nil {
			return steps.Result{}, nil
		}
		account = member.Spec.CloudAccountRef.Name
	}
	bucket, err := w.options.Accounts.Bucket(ctx, account)
	switch {
	case err != nil && s.Dump.Object == nil && hasNoBucket(err):
		return steps.Result{}, nil
	case err != nil && hasNoBucket(err):
		return steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady, "the CloudAccount %q has no bucket any more", account), nil
	case err != nil:
		result := steps.FromError(err, "connecting to the bucket")
		if result.Fatal { // The account may be put right, and nothing is wrong with the dump.
			result = steps.RetryAfter(steps.Refused, v1.ReasonAccountNotReady, "%s", result.Message)
		}
		return result, nil
	case s.Dump.Object == nil && order.Sizes(s.Dump.Bytes) == nil:
		w.unsent = fmt.Sprintf("the dump is not in the bucket: more than %d GiB are not sent", order.MaxParts*order.PartBytes>>30)
		return steps.Result{}, nil
	case w.options.SpokeImage == "":
		w.unsent = "the dump is not in the bucket: the hub has no --spoke-image to send it with"
		return steps.Result{}, nil
	}
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return w.memberError(err), nil
	}
	s.Account = account
	return dump.Sender{
		Backup: w.backup, Bucket: bucket, Owner: w.owner(), Image: w.options.SpokeImage,
		Reader: member.GetAPIReader(), Writer: member.GetClient(), SaveStatus: w.saveStatus, Now: w.now,
	}.Advance(ctx)
}

// hasNoBucket reports whether an account has no bucket.
func hasNoBucket(err error) bool {
	e, of := errors.AsType[*cloud.Error](err)
	return of && e.Code == accounts.CodeNoBucket
}

// deleteDump deletes the dump from its bucket. Its file in the cluster is pruned there.
func (w *work) deleteDump(ctx context.Context) steps.Result {
	d := w.backup.Status.Dump
	if d == nil || d.Object == nil {
		return steps.Result{}
	}
	if !dumps.Owns(w.owner(), d.Object.Prefix) {
		w.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, v1.ReasonSnapshotForeign, "Delete",
			"The dump below %s is another hub's, and was left alone", d.Object.Prefix)
		return steps.Result{}
	}
	bucket, err := w.options.Accounts.Bucket(ctx, w.backup.Status.Account)
	if err != nil {
		return retryFatal(steps.FromError(err, "connecting to the bucket"))
	}
	r := dump.Remover{Backup: w.backup, Bucket: bucket, Now: w.now}
	if member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name)); err == nil {
		r.Reader, r.Writer = member.GetAPIReader(), member.GetClient()
	}
	return retryFatal(r.Advance(ctx))
}
