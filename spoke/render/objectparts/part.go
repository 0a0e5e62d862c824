package objectparts

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Owner is the object that the rendered objects belong to.
type Owner struct {
	// Kind is the object's kind in lower case, for example ecommerceapp.
	Kind      string
	Name      string
	Namespace string
	UID       types.UID
	// Cluster is the name of the member in the fleet; empty without a hub.
	Cluster string
}

// ChildName returns the name of a child: the owner's name and the suffix, at most limit
// characters.
func (o Owner) ChildName(suffix string, limit int) string {
	return Name(o.Name, suffix, limit)
}

// Part is one component of an owner, or the pods of one.
type Part struct {
	Owner Owner
	// Component is the value of the component label.
	Component string
	// App is the name of the software, for example postgresql.
	App string
	// Version is the version of the software; empty if unknown.
	Version string
}

// Selector returns the labels that select the pods of the part. They are immutable.
func (p Part) Selector() map[string]string {
	return map[string]string{
		v1.InstanceLabel:  LabelValue(p.Owner.Name),
		v1.ComponentLabel: p.Component,
		v1.PartOfLabel:    p.Owner.Kind,
	}
}

// PodLabels returns the labels of the part's pods.
func (p Part) PodLabels() map[string]string {
	labels := p.ClaimLabels()
	if p.Version != "" {
		labels[versionLabel] = p.Version
	}
	return labels
}

// ClaimLabels returns the labels of the claims of the part's pods.
func (p Part) ClaimLabels() map[string]string {
	labels := p.Selector()
	labels[v1.NameLabel] = p.App
	labels[v1.ManagedByLabel] = v1.ManagedBy
	return labels
}

// Labels returns the labels of the part's objects.
func (p Part) Labels() map[string]string {
	labels := p.PodLabels()
	if p.Owner.UID != "" {
		labels[v1.OwnerUIDLabel] = string(p.Owner.UID)
	}
	if p.Owner.Cluster != "" {
		labels[v1.ClusterLabel] = LabelValue(p.Owner.Cluster)
	}
	return labels
}

// Meta returns the metadata of an object of the part.
func (p Part) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Owner.Namespace, Name: name, Labels: p.Labels()}
}

// Spread returns constraints that spread the part's pods over nodes and zones if
// possible.
func (p Part) Spread() []corev1.TopologySpreadConstraint {
	over := func(key string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: p.Selector()},
		}
	}
	return []corev1.TopologySpreadConstraint{over(corev1.LabelHostname), over(corev1.LabelTopologyZone)}
}

const versionLabel = "app.kubernetes.io/version"
