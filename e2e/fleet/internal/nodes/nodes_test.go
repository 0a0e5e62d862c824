package nodes_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/nodes"
)

func TestRenderLooksLikeTheProvider(t *testing.T) {
	const group = "azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/shopfleet/providers/Microsoft.Compute/virtualMachines/"
	type look struct{ Name, ProviderID, Region, Zone, Type string }
	for provider, want := range map[nodes.Provider]look{
		nodes.AWS: {
			Name: "ip-10-0-0-11.eu-west-1.compute.internal", ProviderID: "aws:///eu-west-1b/i-00000000000000002",
			Region: "eu-west-1", Zone: "eu-west-1b", Type: "m6i.xlarge",
		},
		nodes.GCP: {
			Name: "gke-member-default-pool-00000002", ProviderID: "gce://shopfleet/us-central1-b/gke-member-default-pool-00000002",
			Region: "us-central1", Zone: "us-central1-b", Type: "e2-standard-4",
		},
		nodes.Azure: {
			Name: "aks-nodepool1-00000000-vm1", ProviderID: group + "aks-nodepool1-00000000-vm1",
			Region: "southeastasia", Zone: "southeastasia-2", Type: "Standard_D4s_v5",
		},
		nodes.Local: {
			Name: "member-worker-2", ProviderID: "local://member/member-worker-2",
			Region: "local", Zone: "local-a", Type: "local",
		},
	} {
		t.Run(string(provider), func(t *testing.T) {
			rendered, err := nodes.Render(nodes.Spec{Cluster: "member", Provider: provider, Count: 3}, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			second := rendered[1]
			got := look{
				Name:       second.Name,
				ProviderID: second.Spec.ProviderID,
				Region:     second.Labels[corev1.LabelTopologyRegion],
				Zone:       second.Labels[corev1.LabelTopologyZone],
				Type:       second.Labels[corev1.LabelInstanceTypeStable],
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(second.Name, second.Labels[corev1.LabelHostname]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRenderFollowsTheSpec(t *testing.T) {
	spec := nodes.Spec{
		Cluster: "member", Provider: nodes.AWS, Region: "eu-north-1", Zones: []string{"x", "y"}, Count: nodes.MaxNodes,
		CPU: resource.MustParse("2"), Memory: resource.MustParse("8Gi"),
	}
	rendered, err := nodes.Render(spec, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	zones, unique := map[string]int{}, map[string]bool{}
	for _, node := range rendered {
		zones[node.Labels[corev1.LabelTopologyZone]]++
		for _, value := range []string{node.Name, node.Spec.ProviderID} {
			if unique[value] {
				t.Errorf("%q stands on two nodes", value)
			}
			unique[value] = true
		}
		if node.Status.Allocatable.Cpu().Value() != 2 || node.Status.Capacity.Memory().String() != "8Gi" {
			t.Errorf("node %q has %v", node.Name, node.Status.Capacity)
		}
	}
	if diff := cmp.Diff(map[string]int{"x": nodes.MaxNodes / 2, "y": nodes.MaxNodes / 2}, zones); diff != "" {
		t.Error(diff)
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, spec := range map[string]nodes.Spec{
		"unknown provider": {Provider: "moon"},
		"negative count":   {Count: -1},
		"too many":         {Count: nodes.MaxNodes + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := nodes.Render(spec, time.Unix(0, 0)); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestStorageClassesHaveOneDefault(t *testing.T) {
	for provider, want := range map[nodes.Provider]string{
		nodes.AWS: "gp3", nodes.GCP: "standard-rwo", nodes.Azure: "managed-csi", nodes.Local: "standard",
	} {
		classes, err := nodes.StorageClasses(provider)
		if err != nil {
			t.Fatal(err)
		}
		var defaults []string
		for _, class := range classes {
			if class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
				defaults = append(defaults, class.Name)
			}
			if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
				t.Errorf("class %q does not expand", class.Name)
			}
		}
		if diff := cmp.Diff([]string{want}, defaults); diff != "" {
			t.Errorf("%s: %s", provider, diff)
		}
	}
}
