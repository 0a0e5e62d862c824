package clusters

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// The audit log's places in the node's container.
const (
	auditFolder = "/var/log/shopfleet-audit"
	policyPath  = auditFolder + "/policy.yaml"
)

// policy holds the audit policy of the API servers.
//
//go:embed audit-policy.yaml
var policy []byte

// auditPatch has kubeadm start the API server with an audit log. It adds to what
// kind generates instead of replacing it.
const auditPatch = `
- op: add
  path: /apiServer/extraArgs/-
  value: {name: audit-policy-file, value: ` + policyPath + `}
- op: add
  path: /apiServer/extraArgs/-
  value: {name: audit-log-path, value: ` + auditFolder + "/" + auditFile + `}
- op: add
  path: /apiServer/extraArgs/-
  value: {name: audit-log-maxsize, value: "1000"}
- op: add
  path: /apiServer/extraVolumes
  value: [{name: audit, hostPath: ` + auditFolder + `, mountPath: ` + auditFolder + `, pathType: Directory}]
`

// config returns the cluster's configuration: the file of KIND_CONFIG, if set, with one
// node, its labels and ports, and the audit log.
func (c *Cluster) config() (*v1alpha4.Cluster, error) {
	config := &v1alpha4.Cluster{TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"}}
	if path := os.Getenv("KIND_CONFIG"); path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading KIND_CONFIG: %w", err)
		}
		if err := yaml.UnmarshalStrict(raw, config); err != nil {
			return nil, fmt.Errorf("parsing KIND_CONFIG %q: %w", path, err)
		}
	}
	folder, err := c.auditFolder()
	if err != nil {
		return nil, err
	}
	node := v1alpha4.Node{
		Role:        v1alpha4.ControlPlaneRole,
		Labels:      c.labels(),
		ExtraMounts: []v1alpha4.Mount{{HostPath: folder, ContainerPath: auditFolder}},
	}
	for _, inside := range slices.Sorted(maps.Keys(c.Mounts)) {
		folder, err := filepath.Abs(c.Mounts[inside])
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("making a folder that cluster %q mounts: %w", c.Name, err)
		}
		node.ExtraMounts = append(node.ExtraMounts, v1alpha4.Mount{HostPath: folder, ContainerPath: inside})
	}
	for _, port := range c.Ports {
		node.ExtraPortMappings = append(node.ExtraPortMappings, v1alpha4.PortMapping{ContainerPort: port, ListenAddress: "127.0.0.1"})
	}
	config.Nodes = []v1alpha4.Node{node}
	config.KubeadmConfigPatchesJSON6902 = append(config.KubeadmConfigPatchesJSON6902, v1alpha4.PatchJSON6902{
		Group: "kubeadm.k8s.io", Version: "v1beta4", Kind: "ClusterConfiguration", Patch: auditPatch,
	})
	v1alpha4.SetDefaultsCluster(config)
	return config, nil
}

func (c *Cluster) labels() map[string]string {
	labels := map[string]string{}
	if c.Region != "" {
		labels["topology.kubernetes.io/region"] = c.Region
	}
	if c.Zone != "" {
		labels["topology.kubernetes.io/zone"] = c.Zone
	}
	return labels
}

// auditFolder makes the folder on this machine that the node writes its audit log to.
func (c *Cluster) auditFolder() (string, error) {
	folder, err := filepath.Abs(filepath.Join(c.Dir, "audit"))
	if err != nil {
		return "", fmt.Errorf("resolving the folder of cluster %q: %w", c.Name, err)
	}
	// What an earlier cluster of this name has logged is not this one's.
	if err := os.RemoveAll(folder); err != nil {
		return "", fmt.Errorf("emptying the audit folder of cluster %q: %w", c.Name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the audit folder of cluster %q: %w", c.Name, err)
	}
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(policyPath)), policy, 0o644); err != nil {
		return "", fmt.Errorf("writing the audit policy of cluster %q: %w", c.Name, err)
	}
	return folder, nil
}
