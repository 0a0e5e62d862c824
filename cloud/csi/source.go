package csi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// What stands in the handle of a disk of Google Cloud that was migrated from the
// in-tree plugin, where the plugin did not know.
const unspecified = "UNSPECIFIED"

// between separates the zones in the label of a volume that has several.
const between = "__"

// source represents the volume of a PersistentVolume, as a driver would write it.
type source struct {
	provider       v1.Provider
	driver, handle string
	// zone is the zone in a handle of the legacy form; otherwise empty.
	zone string
}

// sourceOf reads a PersistentVolume. A disk of an in-tree plugin is read as Kubernetes
// reads it, which migrates it to the plugin's CSI driver.
func sourceOf(pv *corev1.PersistentVolume) (source, error) {
	if pv == nil {
		return source{}, errors.New("there is no PersistentVolume")
	}
	zone := ""
	if ebs := pv.Spec.AWSElasticBlockStore; ebs != nil {
		_, zone = fromAWSURL(ebs.VolumeID) // Migration leaves it out.
	}
	if migration := csitranslation.New(); migration.IsPVMigratable(pv) {
		migrated, err := migration.TranslateInTreePVToCSI(logr.Discard(), pv)
		if err != nil {
			return source{}, fmt.Errorf("migrating it to CSI: %w", err)
		}
		pv = migrated
	}
	switch spec := pv.Spec.PersistentVolumeSource; {
	case spec.CSI != nil:
		provider, known := ProviderOf(spec.CSI.Driver)
		if !known || spec.CSI.Driver == "" {
			return source{}, fmt.Errorf("its driver %q is none of a cloud that is known", spec.CSI.Driver)
		}
		s := source{provider: provider, driver: spec.CSI.Driver, handle: spec.CSI.VolumeHandle, zone: zone}
		if provider == v1.ProviderAWS && zone == "" {
			s.handle, s.zone = fromAWSURL(s.handle)
		}
		return s, nil
	case spec.Local != nil:
		return source{provider: v1.ProviderOther, handle: spec.Local.Path}, nil
	case spec.HostPath != nil:
		return source{provider: v1.ProviderOther, handle: spec.HostPath.Path}, nil
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

// zonesOf returns the zones that a PersistentVolume names, sorted: from its node
// affinity under the driver's label or the common ones, else from its labels.
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

// only returns the zone if there is exactly one, else an empty string.
func only(zones []string) string {
	if len(zones) != 1 {
		return ""
	}
	return zones[0]
}
