package csi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	defaultFSType = "ext4"
	// provisionedByAnnotation names the driver of a volume for controllers.
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
)

// PVSpec describes the PersistentVolume to create for a volume.
type PVSpec struct {
	Name string
	// Driver is the cluster's, see Cluster.Driver; empty for a path in a node.
	Driver string
	// ClaimNamespace and ClaimName are the only claim that may bind it.
	ClaimNamespace, ClaimName string
	// StorageClass is the class of the claim; empty for a claim without one.
	StorageClass string
	// FSType is the file system of the volume; empty: ext4. Not used with a path.
	FSType string
	// Labels are added to managed-by.
	Labels map[string]string
}

// StaticPV returns a PersistentVolume for an existing volume. Deleting it keeps
// the volume. The error names what is missing, or why no node could attach the volume.
func StaticPV(volume cloud.Volume, spec PVSpec) (*corev1.PersistentVolume, error) {
	pv, err := staticPV(volume, spec)
	if err != nil {
		return nil, fmt.Errorf("writing PersistentVolume %q: %w", spec.Name, err)
	}
	return pv, nil
}

func staticPV(volume cloud.Volume, spec PVSpec) (*corev1.PersistentVolume, error) {
	provider, known := ProviderOf(spec.Driver)
	switch {
	case !known:
		return nil, fmt.Errorf("the driver %q is not known", spec.Driver)
	case spec.Name == "" || spec.ClaimNamespace == "" || spec.ClaimName == "":
		return nil, errors.New("its name and its claim must be given")
	case volume.SizeBytes <= 0:
		return nil, fmt.Errorf("the size of volume %q is not known", volume.Ref.Handle)
	}
	affinity, err := affinityOf(provider, volume, spec.Driver)
	if err != nil {
		return nil, err
	}
	pv := &corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   spec.Name,
			Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(volume.SizeBytes, resource.BinarySI)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			VolumeMode:                    new(corev1.PersistentVolumeFilesystem),
			StorageClassName:              spec.StorageClass,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: spec.ClaimNamespace, Name: spec.ClaimName,
			},
			NodeAffinity: affinity,
		},
	}
	maps.Copy(pv.Labels, spec.Labels)
	pv.Spec.PersistentVolumeSource = sourceFor(provider, volume, spec)
	if spec.Driver != "" {
		pv.Annotations = map[string]string{provisionedByAnnotation: spec.Driver}
	}
	// What cannot be read back is not written.
	ref := volume.Ref
	back, err := ParsePV(pv, Defaults{Region: ref.Region, Zone: ref.Zone})
	if err == nil && back.Zone != ref.Zone {
		err = fmt.Errorf("volume %q is in zone %q, not in %q", ref.Handle, back.Zone, ref.Zone)
	}
	return pv, err
}

func sourceFor(provider v1.Provider, volume cloud.Volume, spec PVSpec) corev1.PersistentVolumeSource {
	handle := volume.Ref.Handle
	switch {
	case provider != v1.ProviderOther:
		source := &corev1.CSIPersistentVolumeSource{Driver: spec.Driver, VolumeHandle: handle, FSType: cmp.Or(spec.FSType, defaultFSType)}
		if provider == v1.ProviderAzure && uncached(volume.Type) {
			source.VolumeAttributes = map[string]string{"cachingMode": "None"}
		}
		return corev1.PersistentVolumeSource{CSI: source}
	case volume.Ref.Zone != "":
		return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: handle}}
	default:
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: handle}}
	}
}

// affinityOf returns the nodes that can attach a volume.
func affinityOf(provider v1.Provider, volume cloud.Volume, driver string) (*corev1.VolumeNodeAffinity, error) {
	zone := volume.Ref.Zone
	switch provider {
	case v1.ProviderAzure:
		// A disk that is in all zones of its region can be attached in each.
		if strings.HasSuffix(volume.Type, "_ZRS") {
			return nil, nil
		}
		// Nodes of a region without zones have the label with an empty value.
		if zone != "" {
			zone = strings.ToLower(volume.Ref.Region) + "-" + zone
		}
	case v1.ProviderOther:
		if zone == "" {
			return nil, nil
		}
	default:
		if zone == "" {
			return nil, fmt.Errorf("volume %q is in no zone, or in several: nodes that can attach it are not known", volume.Ref.Handle)
		}
	}
	matches := []corev1.NodeSelectorRequirement{in(TopologyKey(driver), zone)}
	if driver == DriverEBSAuto {
		matches = slices.Insert(matches, 0, in(autoModeLabel, autoModeValue))
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: matches}},
	}}, nil
}

func in(label, value string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
}
