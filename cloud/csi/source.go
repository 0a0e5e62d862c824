package csi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// What stands in the handle of a disk of Google Cloud that was migrated from the
// in-tree plugin, where the plugin did not know.
const unspecified = "UNSPECIFIED"

// between is what stands between the zones in the label of a volume that has several.
const between = "__"

// source is what a PersistentVolume says of its volume, as a driver would write it.
type source struct {
	provider       v1.Provider
	driver, handle string
	// zone is what an old way of writing the handle says of it besides.
	zone string
}

func sourceOf(pv *corev1.PersistentVolume) (source, error) {
	if pv == nil {
		return source{}, errors.New("there is no PersistentVolume")
	}
	switch spec := pv.Spec.PersistentVolumeSource; {
	case spec.CSI != nil:
		provider, known := ProviderOf(spec.CSI.Driver)
		if !known || spec.CSI.Driver == "" {
			return source{}, fmt.Errorf("its driver %q is none of a cloud that is known", spec.CSI.Driver)
		}
		s := source{provider: provider, driver: spec.CSI.Driver, handle: spec.CSI.VolumeHandle}
		if provider == v1.ProviderAWS {
			s.handle, s.zone = fromAWSURL(s.handle)
		}
		return s, nil
	case spec.AWSElasticBlockStore != nil:
		handle, zone := fromAWSURL(spec.AWSElasticBlockStore.VolumeID)
		return source{provider: v1.ProviderAWS, driver: DriverEBS, handle: handle, zone: zone}, nil
	case spec.GCEPersistentDisk != nil:
		handle, err := migratedPD(pv)
		return source{provider: v1.ProviderGCP, driver: DriverPD, handle: handle}, err
	case spec.AzureDisk != nil:
		if kind := spec.AzureDisk.Kind; kind != nil && !strings.EqualFold(string(*kind), string(corev1.AzureManagedDisk)) {
			return source{}, fmt.Errorf("its disk is a blob of kind %q: only managed disks have snapshots", *kind)
		}
		return source{provider: v1.ProviderAzure, driver: DriverAzureDisk, handle: spec.AzureDisk.DataDiskURI}, nil
	case spec.Local != nil:
		return source{provider: v1.ProviderLocal, handle: spec.Local.Path}, nil
	case spec.HostPath != nil:
		return source{provider: v1.ProviderLocal, handle: spec.HostPath.Path}, nil
	default:
		return source{}, errors.New("its volume is neither a disk of a cloud that is known nor a path in a node")
	}
}

// fromAWSURL takes aws://<zone>/<volume> apart, as the in-tree plugin wrote it; the zone
// may be missing.
func fromAWSURL(id string) (handle, zone string) {
	rest, is := strings.CutPrefix(id, "aws://")
	if !is {
		return id, ""
	}
	zone, handle, _ = strings.Cut(rest, "/")
	return strings.Trim(handle, "/"), zone
}

// migratedPD returns the handle that migration gives to a disk of the in-tree plugin:
// the zone, or the region of several zones, is that of the labels.
func migratedPD(pv *corev1.PersistentVolume) (string, error) {
	name := pv.Spec.GCEPersistentDisk.PDName
	label := pv.Labels[corev1.LabelFailureDomainBetaZone]
	if label == "" {
		label = pv.Labels[corev1.LabelTopologyZone]
	}
	zones := strings.Split(label, between)
	if len(zones) == 1 {
		zone := unspecified
		if label != "" {
			zone = label
		}
		return "projects/" + unspecified + "/zones/" + zone + "/disks/" + name, nil
	}
	region := gcpRegion(zones[0])
	for _, zone := range zones {
		if region == "" || gcpRegion(zone) != region {
			return "", fmt.Errorf("the zones %s in its labels are not of one region", strings.Join(zones, ", "))
		}
	}
	return "projects/" + unspecified + "/regions/" + region + "/disks/" + name, nil
}

// zonesOf returns the zones that a PersistentVolume is said to be in, sorted: those of
// its node affinity under the driver's label or the common ones, else of its labels.
func zonesOf(pv *corev1.PersistentVolume, driver string) []string {
	keys := []string{TopologyKey(driver), corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}
	if driver == "" {
		keys = keys[:1]
	}
	for _, key := range keys {
		if zones := affinityValues(pv.Spec.NodeAffinity, key); len(zones) > 0 {
			return zones
		}
	}
	for _, key := range keys {
		if label, ok := pv.Labels[key]; ok {
			zones := strings.Split(label, between)
			slices.Sort(zones)
			return slices.Compact(zones)
		}
	}
	return nil
}

// affinityValues returns the values that any term allows for a label, sorted.
func affinityValues(affinity *corev1.VolumeNodeAffinity, key string) []string {
	if affinity == nil || affinity.Required == nil {
		return nil
	}
	var values []string
	for _, term := range affinity.Required.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			if r.Key == key && r.Operator == corev1.NodeSelectorOpIn {
				values = append(values, r.Values...)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// only returns the one zone that there is; empty when there are several or none.
func only(zones []string) string {
	if len(zones) != 1 {
		return ""
	}
	return zones[0]
}
