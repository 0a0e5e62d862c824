package csi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// descriptionAnnotation describes an object to users.
const descriptionAnnotation = "kubernetes.io/description"

// ProfileClass holds the StorageClass that represents a profile in a cluster.
type ProfileClass struct {
	Profile v1.StorageProfile
	Class   *storagev1.StorageClass
}

// ClassSet are the classes of a cluster.
type ClassSet struct {
	// Driver makes the volumes.
	Driver string
	// Profiles are the classes of the profiles Standard, Fast and Archive, in that order.
	Profiles []ProfileClass
	// Snapshots is the VolumeSnapshotClass, for clusters that have the kind.
	Snapshots *unstructured.Unstructured
}

// Classes returns the classes of a cluster. A cluster of the provider other gets none: its profiles
// stand for its default class. The error is ErrDriverMissing without a driver.
func Classes(c Cluster) (ClassSet, error) {
	driver, err := c.Driver()
	if err != nil || driver == "" {
		return ClassSet{}, err
	}
	set := ClassSet{Driver: driver, Snapshots: snapshotClass(driver)}
	for _, profile := range []v1.StorageProfile{v1.StorageStandard, v1.StorageFast, v1.StorageArchive} {
		d, err := profiled(c.Provider, profile)
		if err != nil {
			return ClassSet{}, err
		}
		class := storageClass(driver, strings.ToLower(string(profile)), d.parameters())
		class.Annotations[descriptionAnnotation] = "Shopfleet's profile " + string(profile) + ": " + d.describe()
		set.Profiles = append(set.Profiles, ProfileClass{Profile: profile, Class: class})
	}
	return set, nil
}

// profiled returns the disk that a profile stands for.
func profiled(p v1.Provider, profile v1.StorageProfile) (disk, error) {
	kinds := map[v1.Provider]map[v1.StorageProfile]string{
		v1.ProviderAWS:   {v1.StorageStandard: "gp3", v1.StorageFast: "gp3", v1.StorageArchive: "st1"},
		v1.ProviderGCP:   {v1.StorageStandard: "pd-balanced", v1.StorageFast: "pd-ssd", v1.StorageArchive: "pd-standard"},
		v1.ProviderAzure: {v1.StorageStandard: "StandardSSD_LRS", v1.StorageFast: "Premium_LRS", v1.StorageArchive: "Standard_LRS"},
	}
	kind, known := kinds[p][profile]
	if !known {
		return disk{}, fmt.Errorf("the storage profile %q does not exist: set Standard, Fast or Archive", profile)
	}
	d := disk{provider: p, kind: kind}
	if p == v1.ProviderAWS && profile == v1.StorageFast {
		d.iops, d.throughput = new(int32(6000)), new(int32(250))
	}
	return d, nil
}

// AppClass returns the class that an application's cloudConfig requests; nil when it has no
// block for the cluster's provider. Applications with the same content share a class. The
// error names the field that is wrong, or is ErrDriverMissing.
func AppClass(c Cluster, config v1.CloudConfig) (*storagev1.StorageClass, error) {
	d, ok := configured(c.Provider, config)
	if !ok {
		return nil, nil
	}
	if err := d.check(c.Region); err != nil {
		return nil, err
	}
	driver, err := c.Driver()
	if err != nil {
		return nil, err
	}
	class := storageClass(driver, "app", d.parameters())
	class.Annotations[descriptionAnnotation] = "Asked for by the cloudConfig of applications: " + d.describe()
	return class, nil
}

// ClassOf returns the class that the volumes of an application get in a cluster: AppClass's if there is
// one, else the profile's. It returns nil for the cluster's default class: on clusters of the provider other, and
// without a profile or configuration. It ignores a storageClassName, which takes precedence, and
// existing volumes, which keep their class.
func ClassOf(c Cluster, profile v1.StorageProfile, config v1.CloudConfig) (*storagev1.StorageClass, error) {
	class, err := AppClass(c, config)
	if err != nil || class != nil || profile == "" {
		return class, err
	}
	set, err := Classes(c)
	if err != nil || set.Driver == "" {
		return nil, err
	}
	for _, p := range set.Profiles {
		if p.Profile == profile {
			return p.Class, nil
		}
	}
	_, err = profiled(c.Provider, profile)
	return nil, err
}

// storageClass returns a class whose name follows what cannot be changed in it.
func storageClass(driver, what string, parameters map[string]string) *storagev1.StorageClass {
	class := &storagev1.StorageClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(), Kind: "StorageClass"},
		Provisioner: driver,
		Parameters:  parameters,
		// Volumes outlive the claims of a namespace that is deleted.
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimRetain),
		AllowVolumeExpansion: new(true),
		// The zone of the pod determines the zone of its volume.
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	class.Name = hashed(what, driver, parameters, string(*class.ReclaimPolicy), string(*class.VolumeBindingMode))
	class.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	class.Annotations = map[string]string{}
	if driver == DriverEBSAuto {
		// Other nodes of the same cluster cannot attach its volumes.
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: autoModeLabel, Values: []string{autoModeValue}},
		}}}
	}
	return class
}

// snapshotClass returns the VolumeSnapshotClass of a driver. Deleting a namespace must
// not delete its backups, hence Retain.
func snapshotClass(driver string) *unstructured.Unstructured {
	parameters := map[string]string{}
	if driver == DriverAzureDisk {
		parameters["incremental"] = "true"
	}
	const retain = "Retain"
	class := &unstructured.Unstructured{Object: map[string]any{"driver": driver, "deletionPolicy": retain}}
	class.SetAPIVersion("snapshot.storage.k8s.io/v1")
	class.SetKind("VolumeSnapshotClass")
	class.SetName(hashed("snapshots", driver, parameters, retain))
	class.SetLabels(map[string]string{v1.ManagedByLabel: v1.ManagedBy})
	class.SetAnnotations(map[string]string{descriptionAnnotation: "Shopfleet's snapshots: they stay when the VolumeSnapshot is deleted"})
	if len(parameters) > 0 {
		all := map[string]any{}
		for key, value := range parameters {
			all[key] = value
		}
		class.Object["parameters"] = all
	}
	return class
}

// hashed returns shopfleet-<what>-<8 hex digits of the rest>.
func hashed(what, driver string, parameters map[string]string, fixed ...string) string {
	content := make([]string, 0, 1+len(parameters)+len(fixed))
	content = append(content, driver)
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		content = append(content, key+"="+parameters[key])
	}
	sum := sha256.Sum256([]byte(strings.Join(append(content, fixed...), "\x00")))
	return "shopfleet-" + what + "-" + hex.EncodeToString(sum[:4])
}

// describe returns a short description of a disk.
func (d disk) describe() string {
	words := []string{d.kind}
	if d.iops != nil {
		words = append(words, fmt.Sprintf("%d IOPS", *d.iops))
	}
	if d.throughput != nil {
		unit := "MiB/s"
		if d.provider == v1.ProviderAzure {
			unit = "MB/s"
		}
		words = append(words, fmt.Sprintf("%d %s", *d.throughput, unit))
	}
	encryption := "encrypted"
	switch {
	case d.plain:
		encryption = "not encrypted"
	case d.key != "":
		encryption = "encrypted with a key of its own"
	}
	return strings.Join(append(words, encryption), ", ")
}
