package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/backup/dump"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// memberTimeout bounds what is read in a member.
const memberTimeout = 20 * time.Second

// errUnbound means that a claim has no volume yet.
var errUnbound = errors.New("the claim is not bound to a volume")

// recordSource sets in the status what the backup is of, once. Later changes of the application or
// the member do not matter to it any more.
func (w *work) recordSource(ctx context.Context) (steps.Result, error) {
	result, err := w.readSource(ctx)
	return w.limitToSnapshot(result), err
}

func (w *work) readSource(ctx context.Context) (steps.Result, error) {
	s := &w.backup.Status
	if s.StartTime != nil {
		return steps.Result{}, nil
	}
	if result, err := w.mayBegin(ctx); result.Stops() || err != nil {
		return result, err
	}
	app := &v1.EcommerceApp{}
	key := client.ObjectKey{Namespace: w.backup.Namespace, Name: w.backup.Spec.AppRef.Name}
	if err := w.client.Get(ctx, key, app); err != nil {
		if apierrors.IsNotFound(err) {
			return steps.Fail(v1.ReasonApplicationNotFound, "there is no EcommerceApp %q", key.Name), nil
		}
		return steps.Result{}, fmt.Errorf("getting the application: %w", err)
	}
	member := &v1.MemberCluster{}
	if err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Spec.ClusterRef.Name}, member); err != nil {
		if apierrors.IsNotFound(err) {
			return steps.Fail(v1.ReasonClusterDetached, "there is no MemberCluster %q", w.backup.Spec.ClusterRef.Name), nil
		}
		return steps.Result{}, fmt.Errorf("getting the member: %w", err)
	}
	if result := canBackUp(w.backup, app, member); result.Stops() {
		return result, nil
	}
	if app.IsDatabaseLost(member.Name) {
		return dump.Lost(w.backup), nil
	}
	s.HubUID, s.AppUID, s.Retention = w.options.HubUID, string(app.UID), app.Spec.Database.Backup.Retention.DeepCopy()
	s.DeleteLockDays = app.Spec.Database.Backup.DeleteLockDays
	if w.backup.Spec.Method != v1.BackupDump {
		s.Account = member.Spec.CloudAccountRef.Name
	}
	s.Provider, s.Region = member.Status.Provider, member.Status.Region
	version, err := w.versionIn(ctx, app, member)
	if err != nil {
		return steps.Result{}, err
	}
	s.Engine, s.Version = app.Spec.Database.Engine, version
	s.StartTime = v1.Seconds(w.now)
	return steps.Result{}, nil
}

// versionIn returns the version of the database in a member: the recorded one, or else the version in the spec
// that the member has.
func (w *work) versionIn(ctx context.Context, app *v1.EcommerceApp, member *v1.MemberCluster) (string, error) {
	db := app.Spec.Database.DeepCopy()
	has, err := w.options.Revisions.InMember(ctx, app, member)
	switch _, wrong := errors.AsType[*apierror.SpecError](err); {
	case wrong: // The copy says why it is not known.
	case err != nil:
		return "", fmt.Errorf("finding what %s has of the application: %w", member.Name, err)
	case has.Spec.Database != nil:
		db = has.Spec.Database
	}
	db.SetServer(app.DatabaseServer(member.Name, db.Server(), v1.CopiedServer{}))
	return db.ExactVersion(), nil
}

// canBackUp reports whether a backup can be made at all.
func canBackUp(b *v1.Backup, app *v1.EcommerceApp, member *v1.MemberCluster) steps.Result {
	can := csi.CapabilitiesOf(member.Status.Provider)
	switch {
	case app.Spec.Database == nil:
		return steps.Fail(v1.ReasonNoDatabase, "EcommerceApp %q has no database: set spec.database", app.Name)
	case b.Spec.Method == v1.BackupDump:
		return canDump(b, app, member)
	case member.Status.Provider == "" || member.Status.Region == "":
		return steps.RetryAfter(steps.Member, v1.ReasonProviderUnknown, "provider and region of %s are not known yet", member.Name)
	case !can.Snapshots:
		return steps.Fail(v1.ReasonCloudRefused, "clusters of the provider %s have no snapshots: make a Backup of the method Dump", member.Status.Provider)
	case member.Spec.CloudAccountRef == nil:
		return steps.Fail(v1.ReasonAccountNotFound, "MemberCluster %q has no spec.cloudAccountRef: set it, or make a Backup of the method Dump", member.Name)
	case len(b.Spec.CopyToRegions) > 0 && can.Copy == csi.CopyNone:
		return steps.Fail(v1.ReasonCloudRefused, "snapshots of the provider %s cannot be copied to other regions: make a Backup without copyToRegions", member.Status.Provider)
	case len(b.Spec.CopyToRegions) > 1 && can.Copy == csi.CopyByLocation:
		return steps.Fail(v1.ReasonInvalidSpec, "the provider %s stores a snapshot in one region: make a Backup with one region in copyToRegions", member.Status.Provider)
	default:
		return steps.Result{}
	}
}

// findVolumes finds the volumes to snapshot, once, and names their snapshots.
func (w *work) findVolumes(ctx context.Context) (steps.Result, error) {
	return w.limitToSnapshot(w.nameSnapshots(ctx)), nil
}

func (w *work) nameSnapshots(ctx context.Context) steps.Result {
	s := &w.backup.Status
	if len(s.Snapshots) > 0 {
		return steps.Result{}
	}
	if result := w.available(ctx); result.Stops() {
		return result
	}
	claims, err := w.claims(ctx)
	if err != nil {
		return w.memberError(err)
	}
	session, err := w.options.Accounts.Session(ctx, s.Account, s.Region)
	if err != nil {
		return steps.FromError(err, "connecting to the cloud")
	}
	var (
		found []v1.VolumeSnapshot
		total int64
	)
	for _, c := range claims {
		volume, err := session.Volumes.DescribeVolume(ctx, c.ref)
		if err != nil {
			if cloud.ClassOf(err) == cloud.ClassNotFound {
				return steps.Fail(v1.ReasonClaimNotFound, "the volume of the claim %s is not in the CloudAccount %q: set spec.cloudAccountRef of MemberCluster %q to the account that has it",
					c.name, s.Account, w.backup.Spec.ClusterRef.Name)
			}
			return steps.FromError(err, "looking at the volume of the claim "+c.name)
		}
		total += volume.SizeBytes
		found = append(found, v1.VolumeSnapshot{
			Claim: c.name, Volume: c.ref.Handle, VolumeUID: volume.UID, Zone: c.ref.Zone, Size: quantity(volume.SizeBytes),
			CloudSnapshot: v1.CloudSnapshot{Region: s.Region, Name: w.nameOf(c.name, "")},
		})
	}
	s.Snapshots, s.Size = found, quantity(total)
	return steps.Result{}
}

// available reports whether the database has data to back up; see dump.Available.
func (w *work) available(ctx context.Context) steps.Result {
	copied, err := w.copyInMember(ctx)
	if client.IgnoreNotFound(err) != nil {
		return w.memberError(err)
	}
	return dump.Available(w.backup, copied)
}

// claim is a claim of the database and its volume.
type claim struct {
	name string
	ref  cloud.VolumeRef
}

// claims reads the claims of the database in the member, from its API server.
func (w *work) claims(ctx context.Context) ([]claim, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return nil, err
	}
	var out []claim
	for _, name := range render.DatabaseClaims(w.backup.Spec.AppRef.Name) {
		pvc := &corev1.PersistentVolumeClaim{}
		if err := member.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: w.backup.Namespace, Name: name}, pvc); err != nil {
			return nil, fmt.Errorf("getting the claim %s: %w", name, err)
		}
		if pvc.Spec.VolumeName == "" {
			return nil, fmt.Errorf("claim %s: %w", name, errUnbound)
		}
		pv := &corev1.PersistentVolume{}
		if err := member.GetAPIReader().Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, pv); err != nil {
			return nil, fmt.Errorf("getting the volume of the claim %s: %w", name, err)
		}
		ref, err := csi.ParsePV(pv, w.locate())
		if err != nil {
			return nil, &unusableError{claim: name, err: err}
		}
		out = append(out, claim{name: name, ref: ref})
	}
	return out, nil
}

// unusableError means that a volume cannot be snapshotted.
type unusableError struct {
	claim string
	err   error
}

func (e *unusableError) Error() string { return fmt.Sprintf("the claim %s: %v", e.claim, e.err) }
func (e *unusableError) Unwrap() error { return e.err }

// memberError returns the result for an error of the member.
func (w *work) memberError(err error) steps.Result {
	var unusable *unusableError
	switch {
	case errors.As(err, &unusable):
		return steps.Fail(v1.ReasonCloudRefused, "%s", unusable.Error())
	case errors.Is(err, errUnbound):
		return steps.RetryAfter(steps.Member, v1.ReasonWaitingForStorage, "the database's claim in %s has no volume yet", w.backup.Spec.ClusterRef.Name)
	case apierrors.IsNotFound(err):
		return steps.Fail(v1.ReasonClaimNotFound, "the database has no claim in %s", w.backup.Spec.ClusterRef.Name)
	default:
		return steps.FromMember(err, w.backup.Spec.ClusterRef.Name, "read claims and volumes")
	}
}

// nameOf returns the name of a snapshot in the cloud, the same in each process that computes it.
func (w *work) nameOf(claim, copyTo string) string {
	return cloud.Name(w.owner().Hub, w.backup.Status.AppUID, w.backup.Namespace, w.backup.Name, claim, copyTo)
}

func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
