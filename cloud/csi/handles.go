package csi

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// Defaults holds the values for volumes of a cluster that do not have their own.
type Defaults struct {
	// Region is the cluster's, for volumes that do not name theirs.
	Region string
	// Zone is the zone of all of the cluster's nodes, if they are in one; for disks of
	// Google Cloud without a zone.
	Zone string
	// Project is the project of Google Cloud that stands for UNSPECIFIED in a handle;
	// empty leaves it to the session.
	Project string
}

// ParsePV returns the location of the volume of a PersistentVolume. The zone has the
// provider's name; it is the name of the node for a path, and empty for a volume with
// several zones or none. The error names the reason why a volume cannot be backed up: it
// has another driver, is in several zones at once, or is deleted with its node.
func ParsePV(pv *corev1.PersistentVolume, d Defaults) (cloud.VolumeRef, error) {
	s, err := sourceOf(pv)
	if err != nil {
		return cloud.VolumeRef{}, describePV(pv, err)
	}
	zones := zonesOf(pv, s.driver)
	if len(zones) == 0 && s.zone != "" {
		zones = []string{s.zone}
	}
	ref, err := s.parse(zones, d)
	if err != nil {
		return cloud.VolumeRef{}, describePV(pv, err)
	}
	return ref, nil
}

func describePV(pv *corev1.PersistentVolume, err error) error {
	name := ""
	if pv != nil {
		name = pv.Name
	}
	return fmt.Errorf("reading PersistentVolume %q: %w", name, err)
}

func (s source) parse(zones []string, d Defaults) (cloud.VolumeRef, error) {
	var ref cloud.VolumeRef
	var err error
	switch s.provider {
	case v1.ProviderAWS:
		ref, err = parseEBS(s.handle, only(zones), d)
	case v1.ProviderGCP:
		ref, err = parsePD(s.handle, only(zones), d)
	case v1.ProviderAzure:
		ref, err = parseAzure(s.handle, only(zones), d)
	default:
		return parsePath(s.handle, only(zones), d)
	}
	if err == nil && ref.Region == "" {
		err = fmt.Errorf("the region of its volume %q is not known", s.handle)
	}
	return ref, err
}

func parseEBS(handle, zone string, d Defaults) (cloud.VolumeRef, error) {
	if strings.HasPrefix(handle, "local-ebs://") {
		return cloud.VolumeRef{}, fmt.Errorf("its volume %q belongs to its node and goes with it", handle)
	}
	id, is := strings.CutPrefix(handle, "vol-")
	if !is || !consistsOf(id, lower+digits) {
		return cloud.VolumeRef{}, fmt.Errorf("its volume %q is not of the form vol-0123456789abcdef0", handle)
	}
	return cloud.VolumeRef{Region: cmp.Or(awsRegion(zone), d.Region), Zone: zone, Handle: handle}, nil
}

func parsePD(handle, zone string, d Defaults) (cloud.VolumeRef, error) {
	parts := strings.Split(handle, "/")
	if len(parts) != 6 || parts[0] != "projects" || parts[4] != "disks" || (parts[2] != "zones" && parts[2] != "regions") {
		return cloud.VolumeRef{}, fmt.Errorf("its volume %q is not of the form projects/P/zones/Z/disks/N", handle)
	}
	if parts[1] == unspecified {
		parts[1] = cmp.Or(d.Project, unspecified)
	}
	if parts[3] == unspecified && parts[2] == "zones" {
		parts[3] = cmp.Or(zone, d.Zone)
	} else if parts[3] == unspecified {
		parts[3] = d.Region
	}
	if parts[3] == "" {
		return cloud.VolumeRef{}, fmt.Errorf("where its volume %q is, is not known: neither its node affinity nor its labels say a zone", handle)
	}
	for _, part := range parts {
		if !consistsOf(part, lower+upper+digits+"-_.:") {
			return cloud.VolumeRef{}, fmt.Errorf("its volume %q has characters in project, zone or name that are in none", handle)
		}
	}
	full := strings.Join(parts, "/")
	if parts[2] == "regions" {
		return cloud.VolumeRef{Region: parts[3], Handle: full}, nil
	}
	if parts[3] == "multi-zone" {
		return cloud.VolumeRef{}, fmt.Errorf("its volume %q stands for a disk in each of several zones", handle)
	}
	region := gcpRegion(parts[3])
	if region == "" {
		return cloud.VolumeRef{}, fmt.Errorf("the zone %q of its volume %q is not of the form us-central1-a", parts[3], handle)
	}
	return cloud.VolumeRef{Region: region, Zone: parts[3], Handle: full}, nil
}

// parseAzure reads a resource ID. The zone in the cluster is <region>-<number>; what
// has no region is no zone, but the fault domain of a region without zones.
func parseAzure(handle, zone string, d Defaults) (cloud.VolumeRef, error) {
	parts := strings.Split(handle, "/")
	form := []string{"", "subscriptions", "", "resourceGroups", "", "providers", "Microsoft.Compute", "disks", ""}
	matches := len(parts) == len(form)
	for i := 0; matches && i < len(form); i++ {
		if form[i] == "" {
			matches = (i == 0) == (parts[i] == "")
		} else {
			matches = strings.EqualFold(form[i], parts[i])
		}
	}
	if !matches {
		return cloud.VolumeRef{}, fmt.Errorf("its volume %q is not of the form %s", handle,
			"/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/N")
	}
	ref := cloud.VolumeRef{Region: d.Region, Handle: handle}
	if i := strings.LastIndex(zone, "-"); i > 0 && consistsOf(zone[i+1:], digits) {
		ref.Region, ref.Zone = strings.ToLower(zone[:i]), zone[i+1:]
	}
	return ref, nil
}

func parsePath(handle, node string, d Defaults) (cloud.VolumeRef, error) {
	clean := path.Clean(handle)
	if !path.IsAbs(handle) || clean == "/" || slices.Contains(strings.Split(handle, "/"), "..") {
		return cloud.VolumeRef{}, fmt.Errorf("its path %q is not an absolute one below /", handle)
	}
	return cloud.VolumeRef{Region: d.Region, Zone: node, Handle: clean}, nil
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// consistsOf reports whether a text is not empty and has only the given characters.
func consistsOf(text, characters string) bool {
	return text != "" && strings.Trim(text, characters) == ""
}

// gcpRegion returns the region of a zone: us-central1 of us-central1-a.
func gcpRegion(zone string) string {
	if i := strings.LastIndex(zone, "-"); i > 0 && i < len(zone)-1 {
		return zone[:i]
	}
	return ""
}

// awsRegion returns the region of a zone, also of a local or wavelength one: us-west-2
// of us-west-2a and of us-west-2-lax-1a. Empty for other texts.
func awsRegion(zone string) string {
	parts := strings.Split(zone, "-")
	for i, part := range parts {
		number := part[:len(part)-len(strings.TrimLeft(part, digits))]
		if number != "" && i >= 2 {
			return strings.Join(append(parts[:i:i], number), "-")
		}
	}
	return ""
}
