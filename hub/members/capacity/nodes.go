package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxZones bounds the number of zones in a status.
const maxZones = 50

// uninitialized is the key of the taint that a node has until the cloud controller manager
// has set its providerID and region.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// NodeFacts aggregates the nodes of a cluster.
type NodeFacts struct {
	// Provider is the provider of most nodes that have a providerID. If none has one, it is
	// other, or empty without nodes or while a node is uninitialized.
	Provider v1.Provider
	// Region is the region of most nodes; empty if no node has the label.
	Region string
	// Zones are the zones of the nodes, sorted, at most 50.
	Zones []string
	// Nodes and ReadyNodes count nodes.
	Nodes, ReadyNodes int32
	// Allocatable is the sum of cpu, memory and pods over the ready nodes; nil without
	// any.
	Allocatable corev1.ResourceList
}

// Nodes aggregates nodes, regardless of their order.
func Nodes(nodes []corev1.Node) NodeFacts {
	facts := NodeFacts{}
	providers, regions, zones := map[v1.Provider]int{}, map[string]int{}, map[string]int{}
	initialized := true
	for i := range nodes {
		node := &nodes[i]
		facts.Nodes++
		initialized = initialized && !slices.ContainsFunc(node.Spec.Taints, isUninitialized)
		providers[providerOf(node.Spec.ProviderID)]++
		regions[node.Labels[corev1.LabelTopologyRegion]]++
		zones[node.Labels[corev1.LabelTopologyZone]]++
		if ready(node) {
			facts.ReadyNodes++
			facts.Allocatable = sum(facts.Allocatable, node.Status.Allocatable)
		}
	}
	delete(providers, "")
	delete(regions, "")
	delete(zones, "")
	facts.Provider = most(providers)
	if facts.Provider == "" && facts.Nodes > 0 && initialized {
		facts.Provider = v1.ProviderOther
	}
	facts.Region = most(regions)
	facts.Zones = slices.Sorted(maps.Keys(zones))
	facts.Zones = facts.Zones[:min(len(facts.Zones), maxZones)]
	return facts
}

// most returns the key with the highest count; of several, the first in sorted order.
func most[K cmp.Ordered](counts map[K]int) K {
	var best K
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if counts[key] > counts[best] {
			best = key
		}
	}
	return best
}

// providerOf returns the provider of a node; empty without a providerID.
func providerOf(providerID string) v1.Provider {
	scheme, _, _ := strings.Cut(providerID, "://")
	switch scheme {
	case "":
		return ""
	case "aws":
		return v1.ProviderAWS
	case "gce":
		return v1.ProviderGCP
	case "azure":
		return v1.ProviderAzure
	default:
		return v1.ProviderOther
	}
}

func isUninitialized(t corev1.Taint) bool { return t.Key == uninitialized }

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// counted returns the resources that are aggregated.
func counted() []corev1.ResourceName {
	return []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
}

func sum(total, more corev1.ResourceList) corev1.ResourceList {
	if total == nil {
		total = corev1.ResourceList{}
	}
	for _, name := range counted() {
		if quantity, ok := more[name]; ok {
			t := total[name]
			t.Add(quantity)
			total[name] = t
		}
	}
	return total
}

// Slim removes from a node all but its labels, providerID, allocatable resources, readiness and
// initialization. It is a cache transform, and returns objects of other types unchanged.
func Slim(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
		},
		Spec: corev1.NodeSpec{ProviderID: node.Spec.ProviderID},
	}
	if i := slices.IndexFunc(node.Spec.Taints, isUninitialized); i >= 0 {
		slim.Spec.Taints = []corev1.Taint{node.Spec.Taints[i]}
	}
	for _, name := range counted() {
		if quantity, ok := node.Status.Allocatable[name]; ok {
			slim.Status.Allocatable = sum(slim.Status.Allocatable, corev1.ResourceList{name: quantity})
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			slim.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return slim, nil
}
