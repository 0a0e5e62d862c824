package component

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Resource is a Kubernetes object: a typed one, or an unstructured one for the
// kinds of optional APIs.
type Resource interface {
	metav1.Object
	runtime.Object
}

// Component is a part of an application, fully rendered: what should exist, and
// what it waits for.
type Component struct {
	// Name is unique within the application, for example database.
	Name string

	// DependsOn names the components that must be ready before this one is
	// rolled out. A name that no component bears, or one that is disabled,
	// counts as ready.
	DependsOn []string

	// Disabled tells that the spec switches the component off. It then has no
	// objects, and those that exist are pruned.
	Disabled bool

	// Objects are what should exist, in the order in which they are written.
	Objects []Object

	// Note is added to the message of the component while it is ready; it tells
	// people what they should still do. Empty for most.
	Note string
}

// Object is one object that should exist. Its Resource carries its GroupVersionKind,
// namespace, name, labels and annotations; the owner reference, the owner's
// labels and the hash annotation are added by the writer.
type Object struct {
	Resource Resource

	// Once tells that the object is written when it is missing, and then left
	// alone: nothing in it is ever overwritten.
	Once bool

	// Generate fills the data of a Secret. Random values are drawn once; a
	// certificate is renewed even in a Secret that is otherwise written once. Nil
	// for the rest.
	Generate *Generate

	// Retain tells that the object outlives the application, as data must, and
	// the credentials of data. It gets no owner reference and is not pruned.
	Retain bool
}

// Generate says what is generated into the data of a Secret. Exactly one field is set.
type Generate struct {
	// Random maps keys of the Secret to the number of characters that are drawn
	// from letters and digits. The other keys of the Secret stay as they are.
	Random map[string]int

	// TLS asks for a self-signed pair in tls.crt and tls.key (and ca.crt) for these names.
	TLS *SelfSigned
}

// SelfSigned describes a self-signed certificate. It is made again when the
// names change, and before it expires.
type SelfSigned struct {
	CommonName string
	DNSNames   []string
}

// Key identifies an object in a cluster.
type Key struct {
	schema.GroupKind
	Namespace string
	Name      string
}

// KeyOf returns the key of an object whose GroupVersionKind is set.
func KeyOf(r Resource) Key {
	return Key{
		GroupKind: r.GetObjectKind().GroupVersionKind().GroupKind(),
		Namespace: r.GetNamespace(),
		Name:      r.GetName(),
	}
}

// Live is what exists in the cluster of an application's objects: those that are
// wanted, those that no longer are, and the claims of its StatefulSets.
type Live map[Key]Resource

// State is what is observed of one component.
type State struct {
	Name    string
	Phase   v1.Phase
	Ready   bool
	Reason  string
	Message string

	// Replicas and ReadyReplicas count the pods of the component's main
	// workload: the first StatefulSet or Deployment among its objects.
	Replicas      int32
	ReadyReplicas int32
	// Selector selects the pods of the main workload. Empty without one.
	Selector string

	// Growing tells that nothing but the size of its volumes keeps it from being
	// ready: what depends on it need not wait.
	Growing bool
	// Timed tells that it is not ready and that nobody but us gives it up: a
	// StatefulSet has no deadline of its own.
	Timed bool
}

// Report is what is observed of an application, in the words of a status.
type Report struct {
	Phase              v1.Phase
	Message            string
	ObservedGeneration int64
	// Ready counts ready components against those that are not disabled, for example 4/5.
	Ready      string
	Conditions []metav1.Condition
	States     []State
	// Claims counts the volume claims that are wanted, BoundClaims those that
	// exist and are bound.
	Claims, BoundClaims int
	// DeadlineIn is in how long a component will have failed unless it becomes
	// ready; 0 when no deadline of ours is running.
	DeadlineIn time.Duration
}

// ContainerImages returns the images of a pod template by container, init containers included.
func ContainerImages(t corev1.PodTemplateSpec) map[string]string {
	images := make(map[string]string, len(t.Spec.Containers)+len(t.Spec.InitContainers))
	for _, c := range t.Spec.InitContainers {
		images[c.Name] = c.Image
	}
	for _, c := range t.Spec.Containers {
		images[c.Name] = c.Image
	}
	return images
}
