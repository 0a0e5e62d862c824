package nodes

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provider is the cloud that a cluster pretends to run in.
type Provider string

// The providers. Local is a machine of one's own.
const (
	AWS   Provider = "aws"
	GCP   Provider = "gcp"
	Azure Provider = "azure"
	Local Provider = "local"
)

// cloud holds the properties that differ between providers.
type cloud struct {
	region       string
	zones        func(region string) []string
	instanceType string
	nodeName     func(Spec, int) string
	providerID   func(spec Spec, zone string, number int) string
	classes      []class
}

type class struct{ name, driver string }

// suffixed returns the region's first three zones in the provider's form.
func suffixed(suffixes ...string) func(string) []string {
	return func(region string) []string {
		zones := make([]string, 0, len(suffixes))
		for _, suffix := range suffixes {
			zones = append(zones, region+suffix)
		}
		return zones
	}
}

func (p Provider) cloud() (cloud, error) {
	switch p {
	case AWS:
		return aws(), nil
	case GCP:
		return gcp(), nil
	case Azure:
		return azure(), nil
	case Local, "":
		return local(), nil
	}
	return cloud{}, fmt.Errorf("provider %q is none of aws, gcp, azure and local", p)
}

func aws() cloud {
	return cloud{
		region:       "eu-west-1",
		zones:        suffixed("a", "b", "c"),
		instanceType: "m6i.xlarge",
		nodeName: func(s Spec, n int) string {
			return fmt.Sprintf("ip-10-0-%d-%d.%s.compute.internal", n/hosts, n%hosts+firstHost, s.Region)
		},
		providerID: func(_ Spec, zone string, n int) string { return fmt.Sprintf("aws:///%s/i-%017x", zone, n+1) },
		// The first is the default.
		classes: []class{{name: "gp3", driver: "ebs.csi.aws.com"}, {name: "gp2", driver: "ebs.csi.aws.com"}},
	}
}

func gcp() cloud {
	name := func(s Spec, n int) string { return fmt.Sprintf("gke-%s-default-pool-%08x", s.Cluster, n+1) }
	return cloud{
		region:       "us-central1",
		zones:        suffixed("-a", "-b", "-c"),
		instanceType: "e2-standard-4",
		nodeName:     name,
		providerID:   func(s Spec, zone string, n int) string { return fmt.Sprintf("gce://shopfleet/%s/%s", zone, name(s, n)) },
		classes: []class{
			{name: "standard-rwo", driver: "pd.csi.storage.gke.io"},
			{name: "premium-rwo", driver: "pd.csi.storage.gke.io"},
		},
	}
}

func azure() cloud {
	const group = "azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/shopfleet/providers/Microsoft.Compute/virtualMachines/"
	name := func(_ Spec, n int) string { return fmt.Sprintf("aks-nodepool1-%08d-vm%d", n/hosts, n) }
	return cloud{
		region:       "southeastasia",
		zones:        suffixed("-1", "-2", "-3"),
		instanceType: "Standard_D4s_v5",
		nodeName:     name,
		providerID:   func(s Spec, _ string, n int) string { return group + name(s, n) },
		classes: []class{
			{name: "managed-csi", driver: "disk.csi.azure.com"},
			{name: "managed-csi-premium", driver: "disk.csi.azure.com"},
		},
	}
}

func local() cloud {
	name := func(s Spec, n int) string { return fmt.Sprintf("%s-worker-%d", s.Cluster, n+1) }
	return cloud{
		region:       "local",
		zones:        suffixed("-a"),
		instanceType: "local",
		nodeName:     name,
		providerID:   func(s Spec, _ string, n int) string { return fmt.Sprintf("local://%s/%s", s.Cluster, name(s, n)) },
		classes:      []class{{name: "standard", driver: "rancher.io/local-path"}},
	}
}

// StorageClasses renders the provider's classes, the default one first.
func StorageClasses(provider Provider) ([]*storagev1.StorageClass, error) {
	found, err := provider.cloud()
	if err != nil {
		return nil, err
	}
	classes := make([]*storagev1.StorageClass, 0, len(found.classes))
	for i, class := range found.classes {
		rendered := &storagev1.StorageClass{
			ObjectMeta:           metav1.ObjectMeta{Name: class.name},
			Provisioner:          class.driver,
			AllowVolumeExpansion: new(true),
			ReclaimPolicy:        new(reclaimDelete),
			VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		}
		if i == 0 {
			rendered.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		classes = append(classes, rendered)
	}
	return classes, nil
}
