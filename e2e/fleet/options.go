package fleet

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/nodes"
)

// Provider is the cloud that a cluster pretends to run in.
type Provider = nodes.Provider

// The providers. Local is a machine of one's own.
const (
	AWS   = nodes.AWS
	GCP   = nodes.GCP
	Azure = nodes.Azure
	Local = nodes.Local
)

// Options describes the fleet to start.
type Options struct {
	// Dir is the folder for data, logs and kubeconfigs. Empty means a temporary
	// one, which goes when the fleet stops or its process ends.
	Dir string
	// Hub is the cluster that rules the fleet. A spec without a name means none.
	Hub ClusterSpec
	// Members are the clusters it rules.
	Members []ClusterSpec
	// Progress receives a line about anything that takes long; nil means nowhere.
	Progress io.Writer
}

// ClusterSpec describes one cluster.
type ClusterSpec struct {
	// Name is unique in the fleet: lower case letters, digits and dashes.
	Name string `json:"name"`
	// Provider decides how nodes and StorageClasses look; empty means Local.
	Provider Provider `json:"provider,omitempty"`
	// Region and Zones are the region and the zones of the nodes; empty means some of the provider's.
	Region string   `json:"region,omitempty"`
	Zones  []string `json:"zones,omitempty"`
	// Nodes is how many nodes the cluster has, 0 to 1000. Without nodes, neither
	// kube-scheduler nor KWOK runs: right for a hub.
	Nodes int `json:"nodes,omitempty"`
	// NodeCPU and NodeMemory are one node's; zero means 4 cores and 16 GiB.
	NodeCPU    resource.Quantity `json:"nodeCPU"`
	NodeMemory resource.Quantity `json:"nodeMemory"`
	// APIServerOnly leaves out everything but etcd and kube-apiserver, for tests of
	// schemas. Namespaces are then never emptied, and no garbage is collected.
	APIServerOnly bool `json:"apiServerOnly,omitempty"`
	// NoWatchCache has etcd answer every list. From the cache, a list waits up to 100 ms
	// until the cache has caught up with etcd. For tests that list often and watch little: a
	// watch without the cache is one of etcd.
	NoWatchCache bool `json:"noWatchCache,omitempty"`
	// Driverless leaves claims and volumes to another storage driver: that of package csi/driver.
	Driverless bool `json:"driverless,omitempty"`
	// JobsByHand leaves the pods of Jobs running, until a test ends them.
	JobsByHand bool `json:"jobsByHand,omitempty"`
}

// Component is one process of a cluster.
type Component string

// The components of a cluster. KWOK simulates the kubelets and the storage driver.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kwok              Component = "kwok"
)

// components lists what runs in the cluster, in the order of starting.
func (s ClusterSpec) components() []Component {
	switch {
	case s.APIServerOnly:
		return []Component{Etcd, APIServer}
	case s.Nodes == 0:
		return []Component{Etcd, APIServer, ControllerManager}
	}
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Kwok}
}

func (s ClusterSpec) nodes() nodes.Spec {
	return nodes.Spec{
		Cluster:  s.Name,
		Provider: s.Provider,
		Region:   s.Region,
		Zones:    s.Zones,
		Count:    s.Nodes,
		CPU:      s.NodeCPU,
		Memory:   s.NodeMemory,
	}
}

// complete fills in the defaults.
func (s ClusterSpec) complete() (ClusterSpec, error) {
	if s.APIServerOnly && s.Nodes > 0 {
		return s, errors.New("a cluster of only an API server has no nodes")
	}
	completed, err := s.nodes().Complete()
	if err != nil {
		return s, err
	}
	s.Provider, s.Region, s.Zones = completed.Provider, completed.Region, completed.Zones
	s.NodeCPU, s.NodeMemory = completed.CPU, completed.Memory
	return s, nil
}

// specs returns all clusters, the hub first, after checking them.
func (o Options) specs() ([]ClusterSpec, error) {
	valid := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	all := o.Members
	if o.Hub.Name != "" {
		all = append([]ClusterSpec{o.Hub}, all...)
	}
	if len(all) == 0 {
		return nil, errors.New("a fleet needs at least one cluster")
	}
	seen := map[string]bool{}
	specs := make([]ClusterSpec, 0, len(all))
	for _, spec := range all {
		if !valid.MatchString(spec.Name) {
			return nil, fmt.Errorf("cluster name %q is not of up to 32 lower case letters, digits and dashes", spec.Name)
		}
		if seen[spec.Name] {
			return nil, fmt.Errorf("two clusters are named %q", spec.Name)
		}
		seen[spec.Name] = true
		completed, err := spec.complete()
		if err != nil {
			return nil, fmt.Errorf("cluster %q: %w", spec.Name, err)
		}
		specs = append(specs, completed)
	}
	return specs, nil
}
