package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaxNodes is how many nodes one cluster may have.
	MaxNodes = 1000

	// internalIP and kubeletPort are where the API server dials the kubelet of every
	// node, for exec, logs and node proxies. There is no kubelet. Port 1 (tcpmux) is
	// closed on any machine that matters, so the connection is refused at once; the
	// default, 10250, may belong to a real kubelet of this machine.
	internalIP  = "127.0.0.1"
	kubeletPort = 1

	hosts         = 200
	firstHost     = 10
	podsPerNode   = 110
	diskPerNode   = "100Gi"
	defaultCPU    = "4"
	defaultMemory = "16Gi"
	reclaimDelete = corev1.PersistentVolumeReclaimDelete
)

// Spec describes the nodes of a cluster.
type Spec struct {
	Cluster  string
	Provider Provider
	// Region and Zones default to some of the provider's. Nodes take the zones in
	// turn.
	Region string
	Zones  []string
	// Count is the number of nodes, 0 to MaxNodes.
	Count int
	// CPU and Memory are one node's; zero means 4 cores and 16 GiB.
	CPU    resource.Quantity
	Memory resource.Quantity
}

// Complete returns the spec with its defaults filled in, or why it makes no sense.
func (s Spec) Complete() (Spec, error) {
	found, err := s.Provider.cloud()
	if err != nil {
		return Spec{}, err
	}
	if s.Count < 0 || s.Count > MaxNodes {
		return Spec{}, fmt.Errorf("%d nodes are not within 0 to %d", s.Count, MaxNodes)
	}
	if s.Provider == "" {
		s.Provider = Local
	}
	if s.Region == "" {
		s.Region = found.region
	}
	if len(s.Zones) == 0 {
		s.Zones = found.zones(s.Region)
	}
	if s.CPU.IsZero() {
		s.CPU = resource.MustParse(defaultCPU)
	}
	if s.Memory.IsZero() {
		s.Memory = resource.MustParse(defaultMemory)
	}
	return s, nil
}

// Render returns the nodes as a kubelet would have registered them at that time,
// already Ready.
func Render(spec Spec, now time.Time) ([]*corev1.Node, error) {
	spec, err := spec.Complete()
	if err != nil {
		return nil, err
	}
	found, err := spec.Provider.cloud()
	if err != nil {
		return nil, err
	}
	rendered := make([]*corev1.Node, 0, spec.Count)
	for number := range spec.Count {
		rendered = append(rendered, render(spec, found, number, metav1.NewTime(now)))
	}
	return rendered, nil
}

func render(spec Spec, from cloud, number int, now metav1.Time) *corev1.Node {
	name := from.nodeName(spec, number)
	zone := spec.Zones[number%len(spec.Zones)]
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              spec.CPU,
		corev1.ResourceMemory:           spec.Memory,
		corev1.ResourcePods:             *resource.NewQuantity(podsPerNode, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse(diskPerNode),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:           name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelInstanceTypeStable: from.instanceType,
				corev1.LabelTopologyRegion:     spec.Region,
				corev1.LabelTopologyZone:       zone,
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: from.providerID(spec, zone, number),
		},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources.DeepCopy(),
			Conditions:  conditions(now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: internalIP},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            "amd64",
				OperatingSystem:         "linux",
				OSImage:                 "simulated",
				KernelVersion:           "simulated",
				ContainerRuntimeVersion: "simulated://1.0",
				KubeletVersion:          "v1.36.3",
			},
		},
	}
}

func conditions(now metav1.Time) []corev1.NodeCondition {
	reported := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
	}
	for i := range reported {
		reported[i].LastHeartbeatTime = now
		reported[i].LastTransitionTime = now
	}
	return reported
}
