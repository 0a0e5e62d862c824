package reconciler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// Kind is what the reconciler needs to know of a kind.
type Kind[T client.Object] struct {
	// Name is the kind in lower case: the value of the part-of label of its children.
	Name string
	// CRD is the name of its CustomResourceDefinition.
	CRD string
	// New returns an empty object.
	New func() T
	// NewList returns an empty list.
	NewList func() client.ObjectList
	// Selects tells which objects are ours to reconcile, now: an object may come and
	// go. Others are left alone, also while they are deleted. Nil means all.
	Selects func(T) bool
	// Facts adds to what is known of the cluster what the object says about it. Nil
	// for kinds that say nothing.
	Facts func(T, render.Cluster) render.Cluster
	// Render is pure: the same object and cluster give the same components. Its
	// error names the field of the spec that must change.
	Render func(T, render.Cluster) ([]component.Component, error)
	// Status returns the fields of an object's status that every kind has.
	Status func(T) Status
	// Report writes what else the kind's status says. States are nil when
	// nothing could be observed; what was said then stays.
	Report func(T, component.Report)
	// SameParts tells whether the parts that a status lists are in the same
	// phases. Nil for kinds of one part.
	SameParts func(before, after T) bool
	// Extra are kinds of children beyond those that every kind may have.
	Extra []client.Object
}

// Status points at the fields that the status of every kind has.
type Status struct {
	Phase              *v1.Phase
	Message            *string
	ObservedGeneration *int64
	LastUpdated        **metav1.Time
	Conditions         *[]metav1.Condition
	// LastHandledReconcileAt is nil for kinds that do not answer the annotation.
	LastHandledReconcileAt *string
}

// Runner is a Kind of any type.
type Runner interface {
	// Identity returns the part-of label's value and the name of the CRD.
	Identity() (name, crd string)
	// Object and List return empty ones.
	Object() client.Object
	List() client.ObjectList
	// Children returns kinds of children beyond those that every kind may have.
	Children() []client.Object
	// Reconciler returns what reconciles the kind in a cluster.
	Reconciler(m *Member) reconcile.Reconciler
}

// Identity returns the part-of label's value and the name of the CRD.
func (k Kind[T]) Identity() (name, crd string) { return k.Name, k.CRD }

// Object returns an empty object.
func (k Kind[T]) Object() client.Object { return k.New() }

// List returns an empty list.
func (k Kind[T]) List() client.ObjectList { return k.NewList() }

// Children returns kinds of children beyond those that every kind may have.
func (k Kind[T]) Children() []client.Object { return k.Extra }

// Reconciler returns what reconciles the kind in a cluster.
func (k Kind[T]) Reconciler(m *Member) reconcile.Reconciler { return newReconciler(k, m) }
