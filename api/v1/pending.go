package v1

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
)

// PendingAction is the kind of write that is held back.
//
// +kubebuilder:validation:Enum=Create;Update;Recreate;Expand;Delete
type PendingAction string

// Actions of pending changes.
const (
	// PendingCreate means that the object does not exist.
	PendingCreate PendingAction = "Create"
	// PendingUpdate means that fields of the object differ.
	PendingUpdate PendingAction = "Update"
	// PendingRecreate means that fields differ that cannot be changed: the object is deleted
	// and created again.
	PendingRecreate PendingAction = "Recreate"
	// PendingExpand means that a volume claim is to grow.
	PendingExpand PendingAction = "Expand"
	// PendingDelete means that the object is no longer part of the application.
	PendingDelete PendingAction = "Delete"
)

// PendingChange is a write in a cluster that is held back while the application or the
// cluster is paused.
type PendingChange struct {
	// cluster is the name of the MemberCluster (hub only). At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// kind is the kind of the object, for example Deployment. The kind of the copy is
	// EcommerceApp. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// name is the name of the object. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// action is Create, Update, Recreate, Expand or Delete.
	// +required
	Action PendingAction `json:"action"`

	// fields are the fields that differ, by path, in the form "path: old -> new". Long values
	// are cut, and of a Secret only the paths are listed. At most 10, of at most 256
	// characters; absent for Create and Delete.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`
}

// MaxPendingChanges is the number of changes that a status lists.
const MaxPendingChanges = 100

// SetPendingChanges sets the changes that are held back, sorted, and their number. The status lists
// the first MaxPendingChanges.
func (s *EcommerceAppStatus) SetPendingChanges(all []PendingChange) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b PendingChange) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Action, b.Action))
	})
	s.PendingChangeCount = int32(min(len(all), 1<<30))
	s.PendingChanges = all[:min(len(all), MaxPendingChanges)]
}

// IsPaused reports whether the hub writes nothing to a member: because of its spec or, according to
// its status, of the hub's safe mode.
func (m *MemberCluster) IsPaused() bool {
	ready := meta.FindStatusCondition(m.Status.Conditions, ConditionReady)
	return m.Spec.Paused || ready != nil && ready.Reason == ReasonPaused
}
