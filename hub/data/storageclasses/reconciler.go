package storageclasses

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// Reconcile applies a member's classes, and reports them in its status.
func (m *member) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	cluster := &v1.MemberCluster{}
	if err := m.hub.Get(ctx, client.ObjectKey{Name: m.name}, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	apps := &v1.EcommerceAppList{}
	if err := m.hub.List(ctx, apps, client.MatchingFields{appsByCluster: m.name}, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing applications: %w", err)
	}
	specs, unknown := m.specs(ctx, cluster, apps.Items)
	wanted := decide(cluster, specs)
	failed := m.apply(ctx, wanted)
	select {
	case <-ctx.Done():
		return reconcile.Result{}, nil // Disconnected: failures are due to that.
	default:
	}
	if class := apierror.Classify(failed); class != apierror.Conflict && class != apierror.Fenced && class != apierror.Paused {
		condition, classes := wanted.status(failed)
		if err := m.writeStatus(ctx, cluster, condition, classes); client.IgnoreNotFound(err) != nil {
			return m.conflicts.Retry(m.options.Waits, request, reconcile.Result{}, err)
		}
	}
	// What a member lacks, such as a driver, becomes an event of its MemberCluster.
	return m.conflicts.RetryReported(m.options.Waits, request, errors.Join(failed, unknown))
}

// specs returns the effective specs of applications in the member. It leaves out an application whose copy reports
// a problem with its spec. The error is about applications whose specs the hub cannot read.
func (m *member) specs(ctx context.Context, cluster *v1.MemberCluster, apps []v1.EcommerceApp) ([]revisions.Effective, error) {
	specs := make([]revisions.Effective, 0, len(apps))
	var failed error
	for i := range apps {
		spec, err := m.options.Revisions.InMember(ctx, &apps[i], cluster)
		switch _, wrong := errors.AsType[*apierror.SpecError](err); {
		case err == nil:
			specs = append(specs, spec)
		case !wrong:
			failed = errors.Join(failed, fmt.Errorf("finding what EcommerceApp %s/%s has: %w", apps[i].Namespace, apps[i].Name, err))
		}
	}
	return specs, failed
}

// intent is the desired state of a member.
type intent struct {
	set   csi.ClassSet
	extra []*storagev1.StorageClass
	// snapshots means that the cluster serves VolumeSnapshotClasses.
	snapshots bool
	// problem is the condition if there is no desired state.
	problem *metav1.Condition
	// defaults means that the profiles are the default class of the cluster.
	defaults bool
}

// decide returns the desired state of a member with what it has of the applications that need a class of their
// own there.
func decide(member *v1.MemberCluster, specs []revisions.Effective) intent {
	of := csi.ClusterOf(member)
	in := intent{
		defaults:  of.Provider == v1.ProviderOther,
		snapshots: slices.Contains(member.Status.Capabilities, csi.CapabilitySnapshots),
	}
	set, err := csi.Classes(of)
	if of.Provider == "" || err != nil && member.Status.ClusterUID == "" {
		in.problem = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1.ReasonProviderUnknown, Message: "The provider or its drivers are not known yet"}
		return in
	}
	if err != nil {
		in.problem = &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonDriverMissing, Message: err.Error()}
		return in
	}
	in.set = set
	for i := range specs {
		class, err := specs[i].AppClass(of) // The application's copy reports what is wrong with a cloudConfig.
		known := func(c *storagev1.StorageClass) bool { return class != nil && c.Name == class.Name }
		if err == nil && class != nil && !slices.ContainsFunc(in.extra, known) {
			in.extra = append(in.extra, class)
		}
	}
	return in
}

// apply applies everything, and returns the first error.
func (m *member) apply(ctx context.Context, in intent) error {
	var failed error
	note := func(err error) {
		if err != nil && failed == nil {
			failed = err
		}
	}
	for _, p := range in.set.Profiles {
		note(m.class(ctx, p.Class))
	}
	for _, class := range in.extra {
		note(m.class(ctx, class))
	}
	if in.snapshots && in.set.Snapshots != nil {
		_, err := m.applier.Apply(ctx, apply.Request{Intent: in.set.Snapshots, Uncached: true, Owned: isOurs})
		note(err)
	}
	return failed
}

func (m *member) class(ctx context.Context, class *storagev1.StorageClass) error {
	request := apply.Request{Intent: class, Owned: isOurs}
	live := &storagev1.StorageClass{}
	switch err := m.cluster.GetCache().Get(ctx, client.ObjectKeyFromObject(class), live); {
	case err == nil:
		request.Live = live
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading storage class %q: %w", class.Name, err)
	}
	if _, err := m.applier.Apply(ctx, request); err != nil {
		return fmt.Errorf("writing storage class %q: %w", class.Name, err)
	}
	return nil
}

func isOurs(live component.Resource) bool { return live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy }

// status returns the condition and the classes for the member's status.
func (in intent) status(failed error) (metav1.Condition, []v1.ProfileClass) {
	if in.problem != nil {
		return *in.problem, nil
	}
	classes := []v1.ProfileClass{{Profile: v1.StorageArchive}, {Profile: v1.StorageFast}, {Profile: v1.StorageStandard}}
	for i := range classes {
		for _, p := range in.set.Profiles {
			if p.Profile == classes[i].Profile {
				classes[i].ClassName = p.Class.Name
			}
		}
	}
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	switch d := apierror.Decide(failed); {
	case d.Class == apierror.Blocked:
		return no(d.Reason, d.Message), classes
	case d.Class == apierror.Forbidden:
		return no(d.Reason, "the hub may not write storage classes there: run kubectl shopfleet join again ("+d.Message+")"), classes
	case failed != nil:
		return no(v1.ReasonApplyFailed, "a storage class cannot be written: "+d.Message), classes
	case in.defaults:
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonProvisioned,
			Message: "The profiles are the cluster's default class",
		}, classes
	default:
		message := "The classes are there, for the driver " + in.set.Driver
		if !in.snapshots {
			message += "; the cluster has no VolumeSnapshotClasses, and needs none for backups"
		}
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonProvisioned, Message: message}, classes
	}
}

// writeStatus writes the status if it changed.
func (m *member) writeStatus(ctx context.Context, cluster *v1.MemberCluster, c metav1.Condition, classes []v1.ProfileClass) error {
	before := cluster.DeepCopy()
	c.Type, c.ObservedGeneration = v1.ConditionStorageReady, cluster.Generation
	c.LastTransitionTime = metav1.NewTime(m.options.Clock.Now())
	meta.SetStatusCondition(&cluster.Status.Conditions, c)
	cluster.Status.StorageClasses = classes
	if equality.Semantic.DeepEqual(before.Status, cluster.Status) {
		return nil
	}
	lock := retry.MergeFromLocked(before)
	if err := m.hub.Status().Patch(ctx, cluster, lock); err != nil {
		return fmt.Errorf("writing the storage of member %q: %w", m.name, err)
	}
	last := meta.FindStatusCondition(before.Status.Conditions, v1.ConditionStorageReady)
	if last == nil || last.Status != c.Status || last.Reason != c.Reason {
		kind := corev1.EventTypeNormal
		if c.Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		m.options.Recorder.Eventf(cluster, nil, kind, c.Reason, "ProvisionStorage", "%s", c.Message)
	}
	return nil
}
