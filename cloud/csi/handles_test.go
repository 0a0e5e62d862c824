package csi

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/cloud"
)

// zonal returns an affinity to nodes with one of the values.
func zonal(key string, values ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}},
	}}}
}

func persistent(source corev1.PersistentVolumeSource, affinity *corev1.VolumeNodeAffinity, labels ...string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source, NodeAffinity: affinity}}
	pv.Name = "data"
	for pair := range slices.Chunk(labels, 2) {
		if pv.Labels == nil {
			pv.Labels = map[string]string{}
		}
		pv.Labels[pair[0]] = pair[1]
	}
	return pv
}

func ofDriver(driver, handle string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}}
}

func inTreeEBS(id string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}}
}

func inTreePD() corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}}
}

func inTreeAzure(id string, kind corev1.AzureDataDiskKind) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: id, Kind: &kind}}
}

const (
	zoneLabel     = corev1.LabelTopologyZone
	betaZoneLabel = corev1.LabelFailureDomainBetaZone
	azureDisk     = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"
	azureDiskLow  = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/disks/d"
)

// parseCase is a PersistentVolume and where its volume is, or what is wrong with it.
type parseCase struct {
	pv       *corev1.PersistentVolume
	defaults Defaults
	want     cloud.VolumeRef
	says     string
}

func TestParsePV(t *testing.T) {
	t.Parallel()
	for provider, cases := range map[string]map[string]parseCase{
		"aws": awsVolumes(), "gcp": gcpVolumes(), "azure": azureVolumes(), "other": otherVolumes(),
	} {
		for name, tt := range cases {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				got, err := ParsePV(tt.pv, tt.defaults)
				expect(t, err, tt.says)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("volume (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func awsVolumes() map[string]parseCase {
	west := Defaults{Region: "us-west-2"}
	ref := cloud.VolumeRef{Region: "us-west-2", Zone: "us-west-2b", Handle: "vol-0abc"}
	withZone := func(region, zone string) cloud.VolumeRef {
		return cloud.VolumeRef{Region: region, Zone: zone, Handle: "vol-0abc"}
	}
	const local = "us-west-2-lax-1a"
	key := TopologyKey(DriverEBS)
	return map[string]parseCase{
		"the driver's zone":      {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, "us-west-2b")), want: ref},
		"the common zone":        {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(zoneLabel, "us-west-2b")), want: ref},
		"a label":                {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), nil, zoneLabel, "us-west-2b"), want: ref},
		"affinity before labels": {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, "us-west-2b"), zoneLabel, "us-west-2c"), want: ref},
		"zone before default":    {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, "us-west-2b")), defaults: Defaults{Region: "eu-west-1"}, want: ref},
		"no zone":                {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), nil), defaults: west, want: withZone("us-west-2", "")},
		"two zones":              {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, "us-west-2a", "us-west-2b")), defaults: west, want: withZone("us-west-2", "")},
		"a local zone":           {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, local)), want: withZone("us-west-2", local)},
		"a government's zone":    {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), zonal(key, "us-gov-east-1a")), want: withZone("us-gov-east-1", "us-gov-east-1a")},
		"Auto Mode":              {pv: persistent(ofDriver(DriverEBSAuto, "vol-0abc"), zonal(zoneLabel, "us-west-2b")), want: ref},
		"in-tree":                {pv: persistent(inTreeEBS("aws://us-west-2b/vol-0abc"), nil), want: ref},
		"in-tree, slashes":       {pv: persistent(inTreeEBS("aws:///vol-0abc"), zonal(betaZoneLabel, "us-west-2b")), want: ref},
		"in-tree, bare":          {pv: persistent(inTreeEBS("vol-0abc"), nil, betaZoneLabel, "us-west-2b"), want: ref},
		"migrated by hand":       {pv: persistent(ofDriver(DriverEBS, "aws://us-west-2b/vol-0abc"), nil), want: ref},
		"no region":              {pv: persistent(ofDriver(DriverEBS, "vol-0abc"), nil), says: "the region of its volume \"vol-0abc\" is not known"},
		"of a node":              {pv: persistent(ofDriver(DriverEBS, "local-ebs://vol-0abc"), nil), defaults: west, says: "belongs to its node"},
		"a snapshot":             {pv: persistent(ofDriver(DriverEBS, "snap-0abc"), nil), defaults: west, says: `its volume "snap-0abc" is not of the form vol-`},
		"a path":                 {pv: persistent(inTreeEBS("aws://us-west-2b/vol-0abc/vol-1"), nil), defaults: west, says: "Invalid format for AWS volume"},
	}
}

func gcpVolumes() map[string]parseCase {
	const zonalDisk, migrated = "projects/p/zones/us-central1-a/disks/d", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"
	const inZone = "projects/UNSPECIFIED/zones/us-central1-a/disks/d"
	key := TopologyKey(DriverPD)
	ref := func(handle string) cloud.VolumeRef {
		return cloud.VolumeRef{Region: "us-central1", Zone: "us-central1-a", Handle: handle}
	}
	regional := func(handle string) cloud.VolumeRef { return cloud.VolumeRef{Region: "us-central1", Handle: handle} }
	return map[string]parseCase{
		"zonal":            {pv: persistent(ofDriver(DriverPD, zonalDisk), zonal(key, "us-central1-a")), want: ref(zonalDisk)},
		"handle alone":     {pv: persistent(ofDriver(DriverPD, zonalDisk), nil), want: ref(zonalDisk)},
		"domain's project": {pv: persistent(ofDriver(DriverPD, "projects/example.com:p/zones/us-central1-a/disks/d"), nil), want: ref("projects/example.com:p/zones/us-central1-a/disks/d")},
		"regional": {
			pv:   persistent(ofDriver(DriverPD, "projects/p/regions/us-central1/disks/d"), zonal(key, "us-central1-a", "us-central1-b")),
			want: regional("projects/p/regions/us-central1/disks/d"),
		},
		"regional, migrated": {
			pv: persistent(ofDriver(DriverPD, "projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d"), nil), defaults: Defaults{Region: "us-central1", Project: "p"},
			want: regional("projects/p/regions/us-central1/disks/d"),
		},
		"migrated":             {pv: persistent(ofDriver(DriverPD, migrated), zonal(key, "us-central1-a")), want: ref(inZone)},
		"migrated, by label":   {pv: persistent(ofDriver(DriverPD, migrated), nil, zoneLabel, "us-central1-a"), want: ref(inZone)},
		"migrated, by default": {pv: persistent(ofDriver(DriverPD, migrated), nil), defaults: Defaults{Zone: "us-central1-a", Project: "p"}, want: ref(zonalDisk)},
		"migrated, nowhere":    {pv: persistent(ofDriver(DriverPD, migrated), nil), defaults: Defaults{Region: "us-central1"}, says: "is not known: neither its node affinity nor its labels"},
		"migrated, two zones":  {pv: persistent(ofDriver(DriverPD, migrated), zonal(key, "us-central1-a", "us-central1-b")), says: "is not known: neither its node affinity nor its labels"},
		"in-tree":              {pv: persistent(inTreePD(), nil, betaZoneLabel, "us-central1-a"), want: ref(inZone)},
		"in-tree, affinity":    {pv: persistent(inTreePD(), zonal(zoneLabel, "us-central1-a")), want: ref(inZone)},
		"in-tree, two zones":   {pv: persistent(inTreePD(), nil, zoneLabel, "us-central1-a__us-central1-b"), want: regional("projects/UNSPECIFIED/regions/us-central1/disks/d")},
		"in-tree, two regions": {pv: persistent(inTreePD(), nil, zoneLabel, "us-central1-a__us-east1-b"), says: "multiple or no regions"},
		"several zones":        {pv: persistent(ofDriver(DriverPD, "projects/p/zones/multi-zone/disks/d"), nil), says: "a disk in each of several zones"},
		"a snapshot":           {pv: persistent(ofDriver(DriverPD, "projects/p/global/snapshots/d"), nil), says: "is not of the form projects/P/zones/Z/disks/N"},
		"a part missing":       {pv: persistent(ofDriver(DriverPD, "projects//zones/us-central1-a/disks/d"), nil), says: "has characters in project"},
		"no zone":              {pv: persistent(ofDriver(DriverPD, "projects/p/zones/here/disks/d"), nil), says: `the zone "here"`},
	}
}

func azureVolumes() map[string]parseCase {
	east := Defaults{Region: "eastus"}
	key := TopologyKey(DriverAzureDisk)
	ref := func(zone string) cloud.VolumeRef {
		return cloud.VolumeRef{Region: "eastus", Zone: zone, Handle: azureDisk}
	}
	return map[string]parseCase{
		"zonal":           {pv: persistent(ofDriver(DriverAzureDisk, azureDisk), zonal(key, "eastus-1")), want: ref("1")},
		"zone in capital": {pv: persistent(ofDriver(DriverAzureDisk, azureDisk), zonal(key, "EastUS-1")), want: ref("1")},
		"lower case":      {pv: persistent(ofDriver(DriverAzureDisk, azureDiskLow), zonal(key, "eastus-1")), want: cloud.VolumeRef{Region: "eastus", Zone: "1", Handle: azureDiskLow}},
		"without zone":    {pv: persistent(ofDriver(DriverAzureDisk, azureDisk), zonal(key, "")), defaults: east, want: ref("")},
		"all zones":       {pv: persistent(ofDriver(DriverAzureDisk, azureDisk), zonal(key, "", "eastus-1", "eastus-2")), defaults: east, want: ref("")},
		"in-tree":         {pv: persistent(inTreeAzure(azureDisk, corev1.AzureManagedDisk), nil, zoneLabel, "eastus-2"), want: ref("2")},
		"fault domain":    {pv: persistent(inTreeAzure(azureDisk, corev1.AzureManagedDisk), nil, zoneLabel, "0"), defaults: east, want: ref("")},
		"no region":       {pv: persistent(ofDriver(DriverAzureDisk, azureDisk), zonal(key, "")), says: "the region of its volume"},
		"a blob":          {pv: persistent(inTreeAzure("https://a/vhds/d", corev1.AzureDedicatedBlobDisk), nil), defaults: east, says: "not supported in csi migration"},
		"a blob's URL":    {pv: persistent(ofDriver(DriverAzureDisk, "https://a/vhds/d"), nil), defaults: east, says: "is not of the form /subscriptions/"},
		"a snapshot":      {pv: persistent(ofDriver(DriverAzureDisk, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/snapshots/d"), nil), says: "is not of the form"},
		"no name":         {pv: persistent(ofDriver(DriverAzureDisk, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/"), nil), says: "is not of the form"},
	}
}

func otherVolumes() map[string]parseCase {
	local := func(path string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}
	}
	host := func(path string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}
	}
	nfs := corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}}
	return map[string]parseCase{
		"local":        {pv: persistent(local("/var/d"), zonal(corev1.LabelHostname, "n")), defaults: Defaults{Region: "home"}, want: cloud.VolumeRef{Region: "home", Zone: "n", Handle: "/var/d"}},
		"host path":    {pv: persistent(host("/var/d/"), zonal(zoneLabel, "z")), want: cloud.VolumeRef{Handle: "/var/d"}},
		"all of it":    {pv: persistent(host("/"), nil), says: "is not an absolute one below /"},
		"relative":     {pv: persistent(host("var/d"), nil), says: "is not an absolute one below /"},
		"outwards":     {pv: persistent(local("/var/../etc"), nil), says: "is not an absolute one below /"},
		"NFS":          {pv: persistent(nfs, nil), says: `reading PersistentVolume "data": its volume is neither`},
		"other driver": {pv: persistent(ofDriver("efs.csi.aws.com", "fs-1"), nil), says: `its driver "efs.csi.aws.com" is none`},
		"no driver":    {pv: persistent(ofDriver("", "/var/d"), nil), says: `its driver "" is none`},
		"nothing":      {pv: nil, says: "there is no PersistentVolume"},
	}
}

func TestDrivers(t *testing.T) {
	t.Parallel()
	for want, source := range map[string]corev1.PersistentVolumeSource{
		DriverEBS:       inTreeEBS("vol-1"),
		DriverEBSAuto:   ofDriver(DriverEBSAuto, "vol-1"),
		DriverPD:        inTreePD(),
		DriverAzureDisk: inTreeAzure(azureDisk, corev1.AzureManagedDisk),
		"":              {HostPath: &corev1.HostPathVolumeSource{Path: "/var/d"}},
	} {
		if got, err := sourceOf(persistent(source, nil)); err != nil || got.driver != want {
			t.Errorf("driver is %q, %v; want %q", got.driver, err, want)
		}
	}
	_, err := sourceOf(persistent(ofDriver("efs.csi.aws.com", "fs-1"), nil))
	expect(t, err, "efs.csi.aws.com")
}

// FuzzParsePV checks that any PersistentVolume is parsed or rejected, and a parsed one can be written and parsed
// again.
func FuzzParsePV(f *testing.F) {
	drivers := []string{DriverEBS, DriverEBSAuto, DriverPD, DriverAzureDisk, ""}
	for _, cases := range []map[string]parseCase{awsVolumes(), gcpVolumes(), azureVolumes()} {
		for _, tt := range cases {
			if s, err := sourceOf(tt.pv); err == nil {
				zones := append(zonesOf(tt.pv, s.driver), "")
				f.Add(slices.Index(drivers, s.driver), s.handle, zones[0], tt.defaults.Region, tt.defaults.Project)
			}
		}
	}
	f.Add(4, "/var/d", "node", "", "")
	f.Fuzz(func(t *testing.T, which int, handle, zone, region, project string) {
		driver := drivers[uint(which)%uint(len(drivers))]
		var affinity *corev1.VolumeNodeAffinity
		if zone != "" {
			affinity = zonal(TopologyKey(driver), zone)
		}
		source := ofDriver(driver, handle)
		if driver == "" {
			source = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: handle}}
		}
		ref, err := ParsePV(persistent(source, affinity), Defaults{Region: region, Project: project})
		if err != nil {
			return
		}
		if ref.Handle == "" || (driver != "" && ref.Region == "") {
			t.Fatalf("understood as %+v", ref)
		}
	})
}
