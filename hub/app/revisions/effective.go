package revisions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/overrides"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Target represents a decision about an application in one cluster.
type Target struct {
	// Member has the labels, region and provider by which overrides select it. It is only read.
	Member *v1.MemberCluster
	// Revision is the number of the revision that the cluster is to have; 0 without a rollout, and until the first one
	// is decided.
	Revision int64
	// Earlier is true if the spec of the application is of another revision.
	Earlier bool
	// Share is the cluster's part of the replicas; nil if they are not divided.
	Share *v1.ReplicaShare
}

// TargetOf returns what was decided last about an application in a member, as the status of the application has it. A
// member that the application does not run in has the revision that it would get.
func TargetOf(app *v1.EcommerceApp, member *v1.MemberCluster) Target {
	entry := app.Status.EntryOf(member.Name)
	t := Target{Member: member.Located(entry)}
	if entry != nil {
		t.Revision, t.Share = entry.Revision, entry.Share
	}
	t.Revision, t.Earlier = Decided(app)(t.Revision)
	return t
}

// Effective returns what the cluster has of a spec, which is not changed. The error is an *apierror.SpecError if an
// override cannot be applied.
func (t Target) Effective(spec *v1.EcommerceAppSpec) (Effective, error) {
	e := Effective{Revision: t.Revision, Earlier: t.Earlier}
	var err error
	if e.Spec, err = overrides.Effective(overrides.Shared(spec, t.Share), t.Member); err != nil {
		return e, &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	return e, nil
}

// Effective is the spec that a cluster has of an application.
type Effective struct {
	// Spec has the share of the replicas and the overrides, and neither placement, rollout, deletion, overrides nor
	// propagate. Its cloudConfig and the storageProfile of its database name no class yet.
	Spec v1.EcommerceAppSpec
	// Revision and Earlier are those of the Target.
	Revision int64
	Earlier  bool
}

// AppClass returns the StorageClass that the application has of its own in a cluster; nil if it needs none. The error
// says what of the cloudConfig is wrong, or is csi.ErrDriverMissing.
func (e Effective) AppClass(cluster csi.Cluster) (*storagev1.StorageClass, error) {
	return csi.AppClass(cluster, e.Spec.CloudConfig)
}

// DatabaseClass returns the StorageClass of the hub that the volumes of a new database get in a cluster; nil if the spec
// names another one, for the default class, and without a database. The error is that of csi.ClassOf.
func (e Effective) DatabaseClass(cluster csi.Cluster) (*storagev1.StorageClass, error) {
	db := e.Spec.Database
	if db == nil || db.StorageClassName != nil {
		return nil, nil
	}
	return csi.ClassOf(cluster, db.StorageProfile, e.Spec.CloudConfig)
}

// Database returns the database that a member gets with the spec of an application as it is rolled out; nil without one.
// It is only read. The error says that it is not known: that of Effective, or that region and provider of a member that
// joins again, by which overrides select it, are about to be known.
func Database(app *v1.EcommerceApp, member *v1.MemberCluster) (*v1.Database, error) {
	spec := rollout.RevisionSpec(app)
	switch {
	case spec.Database == nil || len(spec.Overrides) == 0:
		return spec.Database, nil
	case member.Status.ClusterUID == "":
		return nil, errUnknownMember
	}
	e, err := Target{Member: member}.Effective(spec)
	return e.Spec.Database, err
}

var errUnknownMember = errors.New("region and provider of the member are not known yet")

// In returns the spec that a cluster has of an application, which the caller may change. It costs a request if the
// spec of the application is of another revision, and that is not remembered. The error is an *apierror.SpecError if
// the revision does not exist, or an override cannot be applied; the number of the revision is returned with it.
func (s *Store) In(ctx context.Context, app *v1.EcommerceApp, t Target) (Effective, error) {
	spec := rollout.RevisionSpec(app)
	if t.Earlier {
		var err error
		if spec, err = s.Spec(ctx, app, t.Revision); err != nil {
			return Effective{Revision: t.Revision, Earlier: true}, err
		}
	}
	return t.Effective(spec)
}

// InMember returns the spec that a member has of an application by the status of the latter, as In does.
func (s *Store) InMember(ctx context.Context, app *v1.EcommerceApp, member *v1.MemberCluster) (Effective, error) {
	return s.In(ctx, app, TargetOf(app, member))
}

// Decided returns a function that returns the number of the revision that a cluster is to have, where its entry has one
// or 0, and whether the spec is of another revision. An edit that is yet to be decided about reaches no cluster.
func Decided(app *v1.EcommerceApp) func(revision int64) (number int64, earlier bool) {
	decided := app.Status.Rollout
	if app.Spec.Rollout == nil || decided == nil {
		return func(int64) (int64, bool) { return 0, false }
	}
	_, hash, err := rollout.Template(rollout.RevisionSpec(app))
	isOfSpec := err == nil && hash == decided.SpecHash
	return func(revision int64) (int64, bool) {
		number := cmp.Or(revision, decided.Target())
		return number, !isOfSpec || number != decided.Revision
	}
}

// MayReturn reports whether clusters have another revision of an application than the spec, or may get one again: a
// rollout is not complete, or an edit is yet to be decided about.
func MayReturn(app *v1.EcommerceApp) bool {
	decided := app.Status.Rollout
	if app.Spec.Rollout == nil || decided == nil {
		return false
	}
	_, hash, err := rollout.Template(rollout.RevisionSpec(app))
	return err != nil || hash != decided.SpecHash || decided.State != v1.RolloutComplete
}

// Propagated returns the objects that clusters need beside an application: those that its spec lists, and those that
// the specs of the earlier revisions listed which clusters have. The error is that of revisions that cannot be read;
// one that does not exist lists nothing.
func (s *Store) Propagated(ctx context.Context, app *v1.EcommerceApp) ([]v1.PropagatedObject, error) {
	all, seen := app.Spec.Propagate, map[int64]bool{0: true}
	var failed error
	for i := range app.Status.Clusters {
		revision := app.Status.Clusters[i].Revision
		if seen[revision] {
			continue
		}
		seen[revision] = true
		listed, err := s.propagatedBy(ctx, app, revision)
		if _, missing := errors.AsType[*apierror.SpecError](err); !missing {
			failed = errors.Join(failed, err)
		}
		for _, object := range listed {
			if !slices.Contains(all, object) {
				all = append(slices.Clip(all), object)
			}
		}
	}
	return all, failed
}

// propagatedBy returns the objects that the spec of an earlier revision listed when it was stored; none for the revision
// of the spec.
func (s *Store) propagatedBy(ctx context.Context, app *v1.EcommerceApp, revision int64) ([]v1.PropagatedObject, error) {
	number, earlier := Decided(app)(revision)
	if !earlier {
		return nil, nil
	}
	raw, err := s.raw(ctx, app, number)
	if err != nil {
		return nil, err
	}
	var stored struct {
		Propagate []v1.PropagatedObject `json:"propagate"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("reading what revision %d propagates: %w", number, err)
	}
	return stored.Propagate, nil
}
