package component

import (
	"slices"
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

// Component is a rendered part of an application: its desired objects and its
// dependencies.
type Component struct {
	// Name is unique within the application, for example database.
	Name string

	// DependsOn names the components that must serve before this one is rolled out.
	// Unknown and disabled components count as serving.
	DependsOn []string

	// Disabled is true if the spec disables the component. It then has no objects, and
	// existing ones are pruned.
	Disabled bool

	// Auxiliary means that customers are served without the component's workloads. An
	// Ingress is needed all the same.
	Auxiliary bool

	// Objects are the desired objects, in the order in which they are written.
	Objects []Object

	// Note is added to the message of a ready component to tell the user what else to do.
	// Usually empty.
	Note string

	// Stopped is true if the component has no pods for a time, and then goes on as before.
	Stopped bool

	// Impaired is the reason why users cannot use the component although it is ready, and
	// Impairment says what to do about it. The condition Degraded has them. Usually empty.
	Impaired, Impairment string

	// SelfSigned is the reason why the certificate of the component is self-signed although an issuer
	// is named, and what to do about it. The condition CertificateTrusted has it. Usually empty.
	SelfSigned string

	// Unserved is the reason why the cluster cannot have an object that the component needs; usually
	// empty.
	Unserved string

	// Fallbacks are objects that are used until others are ready. Usually empty.
	Fallbacks []Fallback

	// References are the Secrets and ConfigMaps of users that the objects refer to, sorted by kind and
	// name, each once. References that are optional are not among them, nor are the credentials of a
	// database, which are read. Usually empty.
	References []Key
}

// Fallback keeps objects in use until their replacement is ready.
type Fallback struct {
	// Until is the replacement: a Certificate, an Ingress or an HTTPRoute.
	Until Key
	// Objects are used in place of the component's objects with the same keys, and in addition to
	// the others, while the first of them exists and Until is not ready. The first is never
	// created.
	Objects []Object
}

// Rendered returns all objects of the component: its own and the objects of its fallbacks.
func (c Component) Rendered() []Object {
	all := c.Objects
	for _, fallback := range c.Fallbacks {
		all = slices.Concat(all, fallback.Objects)
	}
	return all
}

// Object is one desired object. Its Resource has GroupVersionKind, namespace, name,
// labels and annotations; the writer adds the owner reference, the owner's labels and the
// hash annotation.
type Object struct {
	Resource Resource

	// Once means that the object is created if it is missing, and never overwritten.
	Once bool

	// Generate adds generated data to a Secret. Random values are generated once; a
	// certificate is renewed even if Once is set. Nil for other objects.
	Generate *Generate

	// Retain means that the object is kept when the application is deleted, as data and
	// its credentials must be. It has no owner reference and is not pruned.
	Retain bool

	// StartReplicas is the number of replicas with which a stopped Deployment starts whose number an
	// autoscaler determines; 0 for other objects.
	StartReplicas int32

	// Inputs is a hash of the part of the spec that the pod template of a workload is rendered from: neither
	// replicas nor storage. Empty for other objects.
	Inputs string
	// Instead is the workload with the pod template that was rendered, which is applied if the live one cannot
	// stay. Nil for an object that is applied as it is. See Hold.
	Instead Resource
	// Kept describes the live pod template of a workload, if it stays; nil for others.
	Kept *rendered
}

// Generate describes generated data of a Secret. Exactly one field is set.
type Generate struct {
	// Random maps keys of the Secret to the length of a random value of letters and
	// digits. Other keys are not changed.
	Random map[string]int

	// TLS requests a self-signed key pair in tls.crt and tls.key, and ca.crt.
	TLS *SelfSigned
}

// SelfSigned describes a self-signed certificate. It is reissued when the names change,
// and before it expires.
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

// Live contains the existing objects of an application: the desired ones, those that are
// no longer needed, and the claims and pods of its StatefulSets. Pods have identity, labels,
// owner, images and status only.
type Live map[Key]Resource

// State is the observed state of one component.
type State struct {
	Name    string
	Phase   v1.Phase
	Ready   bool
	Reason  string
	Message string

	// Replicas, ReadyReplicas and UpdatedReplicas count the pods of the component's main
	// workload: the first StatefulSet or Deployment among its objects.
	Replicas, ReadyReplicas, UpdatedReplicas int32
	// Selector selects the pods of the main workload that serve, and Awaited those that are to; usually the
	// same. Empty without one.
	Selector, Awaited string

	// Unavailable is the reason why the component does not serve customers; empty if it does.
	Unavailable string
	// Serving is true if the component serves its dependents with the desired version, even
	// if it is not ready. They need not wait.
	Serving bool
	// Copying is true if a pod copies the primary's data, which may take hours.
	Copying bool
	// Impaired is the reason why users cannot use a ready component, and Impairment says what to
	// do about it; usually empty.
	Impaired, Impairment string
	// SelfSigned is copied from the component.
	SelfSigned string

	// Creation is how far the pods of the workload are created.
	Creation Creation
	// Unscaled says that an autoscaler of the component does not work, and what to do about it;
	// UnscaledSince is since when. Usually empty.
	Unscaled      string
	UnscaledSince time.Time
	// HeldSince is when the deletion of an object began that finalizers of others hold; zero without one.
	HeldSince time.Time
	// Growing is true if the component is not ready only because its volumes are too
	// small. Its dependents need not wait.
	Growing bool
	// Timed is true if the component is not ready and Kubernetes enforces no progress
	// deadline for it: it has a StatefulSet.
	Timed bool
}

// Creation is how far the pods of a workload are created.
type Creation struct {
	// Refusal says that the cluster rejects the pods of a Deployment, and why; usually empty.
	Refusal string
	// Pods is the number of those that exist, and Unbound of the claims that exist and have no volume.
	Pods    int32
	Unbound int
}

// Summary is the observed state of an application, for its status.
type Summary struct {
	Phase              v1.Phase
	Message            string
	ObservedGeneration int64
	// Ready is the number of ready and of enabled components, for example 4/5.
	Ready      string
	Conditions []metav1.Condition
	States     []State
	// Replicas are the replicas of the database, as last observed.
	Replicas []v1.DatabaseReplica
	// DatabaseStarted is true if a pod was observed to have started with the database that the spec has.
	DatabaseStarted bool
	// Addresses are the IP addresses and DNS names of the application, as in its status.
	Addresses []string
	// Claims counts the desired volume claims, BoundClaims those that exist and are bound.
	Claims, BoundClaims int
	// Pending are the changes that are held back.
	Pending []v1.PendingChange
	// DeadlineIn is the time until a component fails unless it makes progress; 0 if no
	// deadline applies.
	DeadlineIn time.Duration
}

// ContainerImages returns the images of a pod template by container name, including init
// containers.
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
