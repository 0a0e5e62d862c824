package csi

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// obstacles are facts, and the reason and a part of the message of the obstacle that they are.
type obstacles map[string]struct {
	facts RestoreFacts
	want  string
	says  string
}

func (o obstacles) run(t *testing.T) {
	t.Helper()
	for name, tt := range o {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.facts.Obstacle()
			if got.Reason != tt.want || !strings.Contains(got.Message, tt.says) {
				t.Errorf("%+v, want the reason %q, and %q in the message", got, tt.want, tt.says)
			}
			if tt.want == v1.ReasonNotAttachable && !strings.Contains(got.Message, v1.AttachesVolumesAnnotation) {
				t.Errorf("the message does not say what to do: %q", got.Message)
			}
		})
	}
}

// TestObstacle checks that each known obstacle has a message, and unknown facts prevent no restore.
func TestObstacle(t *testing.T) {
	t.Parallel()
	google := func(class map[string]string, handle string) RestoreFacts {
		return RestoreFacts{Provider: v1.ProviderGCP, Region: "europe-west1", Driver: DriverPD, Class: class, Handle: handle}
	}
	amazon := func(driver string, tags cloud.Tags) RestoreFacts {
		return RestoreFacts{Provider: v1.ProviderAWS, Region: "eu-west-1", Driver: driver, Volume: &cloud.Volume{Tags: tags}}
	}
	const zonal, regional = "projects/p/zones/europe-west1-b/disks/d", "projects/p/regions/europe-west1/disks/d"
	obstacles{
		"nothing is known":                     {RestoreFacts{}, "", ""},
		"nothing is known of Azure":            {RestoreFacts{Provider: v1.ProviderAzure}, "", ""},
		"nothing is known of Google":           {google(nil, ""), "", ""},
		"nothing is known of AWS":              {RestoreFacts{Provider: v1.ProviderAWS}, "", ""},
		"a path in a node":                     {RestoreFacts{Provider: v1.ProviderOther, Handle: "/data"}, "", ""},
		"a zonal disk of Google":               {google(map[string]string{"type": "pd-ssd", "csi.storage.k8s.io/fstype": "ext4", "replication-type": "none"}, zonal), "", ""},
		"a regional class":                     {google(map[string]string{"type": "pd-ssd", "replication-type": "regional-pd"}, regional), v1.ReasonNotRestorable, "regional"},
		"a regional disk of a class not known": {google(nil, regional), v1.ReasonNotRestorable, "regional"},
		"a class with labels":                  {google(map[string]string{"labels": "a=b", "type": "pd-ssd"}, zonal), v1.ReasonNotRestorable, "parameter labels"},
		"a class with a storage pool":          {google(map[string]string{"storage-pools": "p"}, zonal), v1.ReasonNotRestorable, "storage-pools"},
		"a volume of EBS":                      {amazon(DriverEBS, cloud.Tags{"ebs.csi.aws.com/cluster": "true"}), "", ""},
		"Auto Mode":                            {amazon(DriverEBSAuto, nil), v1.ReasonNotAttachable, "Auto Mode"},
		"a role that is scoped to its cluster": {amazon(DriverEBS, cloud.Tags{"ebs.csi.aws.com/cluster-name": "shops"}), v1.ReasonNotAttachable, "cluster-name"},
		"a role that is scoped to more":        {func() RestoreFacts { f := amazon(DriverEBSAuto, nil); f.MayAttach = true; return f }(), "", ""},
	}.run(t)
}

// TestObstacleOnAzure checks the obstacles by zones, kinds of disks and resource groups.
func TestObstacleOnAzure(t *testing.T) {
	t.Parallel()
	disk := func(group string) string {
		return "/subscriptions/s/resourceGroups/" + group + "/providers/Microsoft.Compute/disks/d"
	}
	azure := func(change func(*RestoreFacts)) RestoreFacts {
		f := RestoreFacts{
			Provider: v1.ProviderAzure, Region: "westeurope", Driver: DriverAzureDisk, NodeZones: []string{"westeurope-1"}, Group: "hub", Handle: disk("HUB"),
			Class: map[string]string{"skuName": "Premium_LRS"}, Volume: &cloud.Volume{Type: "Premium_LRS", Ref: cloud.VolumeRef{Zone: "1"}},
		}
		change(&f)
		return f
	}
	unzoned := func(f *RestoreFacts) { f.Volume.Ref.Zone = "" }
	obstacles{
		"a zonal disk of Azure":         {azure(func(*RestoreFacts) {}), "", ""},
		"no zone":                       {azure(unzoned), v1.ReasonNotRestorable, "availability zone"},
		"no zone, and one is asked for": {azure(func(f *RestoreFacts) { unzoned(f); f.Zone = "westeurope-2" }), "", ""},
		"a zone is asked for by number": {azure(func(f *RestoreFacts) { unzoned(f); f.Zone = "3" }), "", ""},
		"a fault domain is asked for":   {azure(func(f *RestoreFacts) { f.Zone = "0" }), v1.ReasonNotRestorable, "(0)"},
		"nodes in fault domains, no volume": {azure(func(f *RestoreFacts) { f.Volume, f.NodeZones = nil, []string{"0", "1"} }),
			v1.ReasonNotRestorable, "availability zone"},
		"nodes of another region's zones, no volume": {azure(func(f *RestoreFacts) { f.Volume, f.NodeZones = nil, []string{"northeurope-1"} }),
			v1.ReasonNotRestorable, "availability zone"},
		"nodes in zones, no volume":  {azure(func(f *RestoreFacts) { f.Volume = nil }), "", ""},
		"nodes not known, no volume": {azure(func(f *RestoreFacts) { f.Volume, f.NodeZones = nil, nil }), "", ""},
		"a zone-redundant volume":    {azure(func(f *RestoreFacts) { unzoned(f); f.Volume.Type = "StandardSSD_ZRS" }), v1.ReasonNotRestorable, "StandardSSD_ZRS"},
		"a zone-redundant class":     {azure(func(f *RestoreFacts) { f.Class = map[string]string{"SKUName": "premium_zrs"} }), v1.ReasonNotRestorable, "zone-redundant"},
		"a zone-redundant class, by its old parameter": {azure(func(f *RestoreFacts) { f.Class = map[string]string{"storageAccountType": "Premium_ZRS"} }),
			v1.ReasonNotRestorable, "zone-redundant"},
		"disks of another group":                  {azure(func(f *RestoreFacts) { f.Handle = disk("MC_shop") }), v1.ReasonNotAttachable, "MC_shop"},
		"disks of another group that it attaches": {azure(func(f *RestoreFacts) { f.Handle, f.MayAttach = disk("MC_shop"), true }), "", ""},
		"a group that is not known":               {azure(func(f *RestoreFacts) { f.Handle, f.Group = disk("MC_shop"), "" }), "", ""},
		"an attachable disk that cannot be made":  {azure(func(f *RestoreFacts) { unzoned(f); f.MayAttach = true }), v1.ReasonNotRestorable, ""},
	}.run(t)
}

// TestOurClassesAreNoObstacle checks that volumes of the classes that the hub creates can be restored.
func TestOurClassesAreNoObstacle(t *testing.T) {
	t.Parallel()
	for name, cluster := range clusters() {
		set, err := Classes(cluster)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range set.Profiles {
			if o := (RestoreFacts{Provider: cluster.Provider, Class: p.Class.Parameters}).Obstacle(); o.Reason != "" {
				t.Errorf("%s, %s: %+v", name, p.Class.Name, o)
			}
		}
	}
}
