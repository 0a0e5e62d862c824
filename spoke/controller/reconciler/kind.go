package reconciler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// Kind describes a kind of applications to the reconciler.
type Kind[T client.Object] struct {
	// Name is the kind in lower case: the value of the part-of label of its children.
	Name string
	// CRD is the name of its CustomResourceDefinition.
	CRD string
	// New returns an empty object.
	New func() T
	// NewList returns an empty list.
	NewList func() client.ObjectList
	// Selects reports whether an object is to be reconciled now; the result may change
	// over time. Other objects are ignored, also while they are being deleted. Nil selects
	// all.
	Selects func(T) bool
	// Facts adds facts about the cluster that the object contains. May be nil.
	Facts func(T, render.Cluster) render.Cluster
	// Render returns the components of an object. It is pure. Its error names the field of
	// the spec that must change.
	Render func(T, render.Cluster) ([]component.Component, error)
	// Version is the version of the pod templates that Render returns. Without one they are never held.
	Version string
	// Released reports whether pods of an object may be replaced only because they are of another version. Nil means
	// that they may.
	Released func(T) bool
	// Unsupported returns what of the spec has no effect. May be nil.
	Unsupported func(T) render.Unsupported
	// Status returns the status fields that every kind has.
	Status func(T) Status
	// SetStatus sets the kind-specific status fields. States are nil if nothing could be
	// observed; those fields must then be kept.
	SetStatus func(T, component.Summary)
	// Last returns the components of the last status with the numbers of their ready and
	// updated pods, which progress is measured by. Nil for kinds without StatefulSets.
	Last func(T) []component.State
	// Database returns the database of an object, and false if it has none that is administered:
	// whose password is rotated and whose replicas are observed. May be nil.
	Database func(T, render.Cluster) (database.Spec, bool)
	// DeletesVolumes returns the names of the database of an object that is being deleted, and whether its
	// volumes are to be deleted with it. Nil means that they never are.
	DeletesVolumes func(T) (database.Spec, bool)
	// Clients returns the labels of the pods that log in to the database, and of their Deployments. Nil if
	// the clients are not known: an old password is then revoked at once.
	Clients func(T) map[string]string
	// Paused reports whether nothing of an object but its status is to be written, unless it is
	// being deleted. Nil means that the kind cannot be paused.
	Paused func(T) bool
	// Extra are additional kinds of children.
	Extra []client.Object
}

// Status points to the status fields that every kind has.
type Status struct {
	Phase              *v1.Phase
	Message            *string
	ObservedGeneration *int64
	LastUpdated        **metav1.Time
	Conditions         *[]metav1.Condition
	// LastHandledReconcileAt is nil for kinds that do not support the annotation.
	LastHandledReconcileAt *string
	// LastHandledImageUpdate is nil for kinds that only know the value RestartNow, and forget
	// tokens.
	LastHandledImageUpdate *string
	// DatabaseCreated is nil for kinds without a database.
	DatabaseCreated *bool
	// StartedServer is nil for kinds that do not keep it. SetStatus sets it.
	StartedServer **v1.DatabaseServer
	// RenderingVersion and HeldTemplates are nil for kinds that do not report them.
	RenderingVersion *string
	HeldTemplates    *[]string
	// AppliedHash is nil for kinds that do not keep it: after a start of the process, their children
	// are read once.
	AppliedHash *string
}

// AnyKind is a Kind with the type parameter erased.
type AnyKind interface {
	// Identity returns the part-of label's value and the name of the CRD.
	Identity() (name, crd string)
	// Object and List return empty values.
	Object() client.Object
	List() client.ObjectList
	// Children returns the additional kinds of children.
	Children() []client.Object
	// Reconciler returns the reconciler of the kind for a cluster.
	Reconciler(m *Member) reconcile.Reconciler
}

// Identity returns the part-of label's value and the name of the CRD.
func (k Kind[T]) Identity() (name, crd string) { return k.Name, k.CRD }

// Object returns an empty object.
func (k Kind[T]) Object() client.Object { return k.New() }

// List returns an empty list.
func (k Kind[T]) List() client.ObjectList { return k.NewList() }

// Children returns the additional kinds of children.
func (k Kind[T]) Children() []client.Object { return k.Extra }

// Reconciler returns the reconciler of the kind for a cluster.
func (k Kind[T]) Reconciler(m *Member) reconcile.Reconciler { return newReconciler(k, m) }
