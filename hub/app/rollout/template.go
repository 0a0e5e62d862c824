package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// hashLength is the length of a hash of a revision, in bytes.
const hashLength = 8

// Template returns the revision in a spec as JSON, and its hash. Fields that later releases add do not
// change the hash of a spec that does not have them. The JSON has the numbers of replicas and the propagated objects,
// which the hash leaves out: the numbers count where a later spec has autoscaling in their place, and the objects where
// a cluster has the revision.
func Template(spec *v1.EcommerceAppSpec) (raw []byte, hash string, err error) {
	template := *spec
	copyRest(&template, &v1.EcommerceAppSpec{Propagate: spec.Propagate})
	if raw, err = json.Marshal(template); err != nil {
		return nil, "", fmt.Errorf("encoding the revision: %w", err)
	}
	template.Replicas, template.Frontend.Replicas, template.Backend.Replicas, template.Propagate = nil, nil, nil, nil
	counted, err := json.Marshal(template)
	if err != nil {
		return nil, "", fmt.Errorf("encoding the revision: %w", err)
	}
	sum := sha256.Sum256(counted)
	return raw, hex.EncodeToString(sum[:hashLength]), nil
}

// Merge returns a spec with the revision that Template returned as JSON in place of its own.
func Merge(spec *v1.EcommerceAppSpec, raw []byte) (*v1.EcommerceAppSpec, error) {
	out := &v1.EcommerceAppSpec{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decoding the revision: %w", err)
	}
	from := spec.DeepCopy()
	copyRest(out, from)
	if mergeReplicas(&out.Frontend, &from.Frontend) {
		out.Replicas = from.Replicas
	}
	mergeReplicas(&out.Backend, &from.Backend)
	return out, nil
}

// copyRest copies what is not part of a revision.
func copyRest(to, from *v1.EcommerceAppSpec) {
	to.Placement, to.Rollout, to.Propagate, to.Deletion, to.Paused = from.Placement, from.Rollout, from.Propagate, from.Deletion, from.Paused
}

// mergeReplicas gives a component of a revision the present number of replicas, and reports whether there is
// one. One with autoscaling has none, and one that is scaled automatically by now has its own.
func mergeReplicas(to, from *v1.Workload) bool {
	switch {
	case to.Autoscaling != nil:
		to.Replicas = nil
	case from.Autoscaling != nil:
		return false
	default:
		to.Replicas = from.Replicas
	}
	return true
}

// KeepDatabase makes a revision of an earlier time fit the database of a copy: it has its engine,
// size and class, which never go back, and is not removed. A server of another version stays, and one whose
// files the server of the revision cannot read. That of MySQL stays, too, once a pod may have started with it: it
// upgrades its files then, and no earlier one can read them, not even of another patch version. If no pod has
// started with the server of the copy, the one that the data is of counts in its place: MySQL returns to that
// one alone. It also stays in place of the one of the copy, if that has the same version, which the copy's schema
// does not let lower.
func KeepDatabase(spec *v1.EcommerceAppSpec, copied *v1.EcommerceApp) {
	live := copied.Spec.Database.DeepCopy()
	if live == nil {
		return
	}
	if spec.Database == nil {
		spec.Database = live
		return
	}
	from := v1.DatabaseOfData(copied)
	kept := live
	if from.Version == live.Version {
		kept = from
	}
	stays := live.Engine == v1.EngineMySQL && spec.Database.Server() != v1.CopiedServerOf(copied).Started
	if stays || spec.Database.Version != live.Version || v1.CheckServer(from, spec.Database) != nil {
		spec.Database.Version, spec.Database.Image = kept.Version, kept.Image
	}
	spec.Database.Engine, spec.Database.Storage = live.Engine, live.Storage
	spec.Database.StorageClassName, spec.Database.StorageProfile = live.StorageClassName, live.StorageProfile
}
