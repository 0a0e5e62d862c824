package csi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/shopfleet/shopfleet/cloud"
)

// TestMigration holds the reading of in-tree volumes to what Kubernetes makes of them
// when it migrates them to their CSI drivers: the volume is the same before and after.
func TestMigration(t *testing.T) {
	t.Parallel()
	// The zones of each source's cloud: one, another, and one of another region.
	aws := [3]string{"us-west-2b", "us-west-2c", "us-east-1a"}
	gcp := [3]string{"us-central1-a", "us-central1-b", "us-east1-b"}
	azure := [3]string{"eastus-1", "eastus-2", "westus-1"}
	for name, in := range map[string]struct {
		source corev1.PersistentVolumeSource
		zones  [3]string
	}{
		"EBS short URL": {inTreeEBS("aws:///vol-0abc"), aws},
		"EBS bare":      {inTreeEBS("vol-0abc"), aws},
		"EBS bad":       {inTreeEBS("aws://us-west-2b/snap-0abc"), aws},
		"PD":            {inTreePD(), gcp},
		"Azure":         {inTreeAzure(azureDisk, corev1.AzureManagedDisk), azure},
		"Azure lower":   {inTreeAzure(azureDiskLow, corev1.AzureManagedDisk), azure},
		"Azure blob":    {inTreeAzure("https://a/vhds/d", corev1.AzureSharedBlobDisk), azure},
	} {
		for where, pv := range placed(in.source, in.zones) {
			t.Run(name+" by "+where, func(t *testing.T) {
				t.Parallel()
				checkMigration(t, pv)
			})
		}
	}
}

// placed returns a volume in each way in which a PersistentVolume tells a zone.
func placed(source corev1.PersistentVolumeSource, z [3]string) map[string]*corev1.PersistentVolume {
	return map[string]*corev1.PersistentVolume{
		"nothing":           persistent(source, nil),
		"label":             persistent(source, nil, zoneLabel, z[0]),
		"old label":         persistent(source, nil, betaZoneLabel, z[0]),
		"both labels":       persistent(source, nil, betaZoneLabel, z[0], zoneLabel, z[1]),
		"two zones":         persistent(source, nil, zoneLabel, z[0]+between+z[1]),
		"two regions":       persistent(source, nil, zoneLabel, z[0]+between+z[2]),
		"affinity":          persistent(source, zonal(zoneLabel, z[0])),
		"old affinity":      persistent(source, zonal(betaZoneLabel, z[0])),
		"affinity to two":   persistent(source, zonal(zoneLabel, z[0], z[1])),
		"affinity, label":   persistent(source, zonal(zoneLabel, z[0]), zoneLabel, z[0]),
		"affinity, another": persistent(source, zonal(zoneLabel, z[0]), zoneLabel, z[1]),
	}
}

func checkMigration(t *testing.T, pv *corev1.PersistentVolume) {
	t.Helper()
	defaults := Defaults{Region: "fallback", Zone: "us-central1-f"}
	before, ours := ParsePV(pv, defaults)
	migrated, theirs := csitranslation.New().TranslateInTreePVToCSI(klog.Background(), pv)
	if theirs != nil {
		if ours == nil {
			t.Errorf("Kubernetes refuses it, %v; here it is %+v", theirs, before)
		}
		return
	}
	after, err := ParsePV(migrated, defaults)
	if ours != nil || err != nil {
		t.Fatalf("before: %v; after: %v", ours, err)
	}
	if diff := cmp.Diff(after, before); diff != "" {
		t.Errorf("volume (-after +before):\n%s", diff)
	}
	if found, err := sourceOf(pv); err != nil || found.driver != migrated.Spec.CSI.Driver {
		t.Errorf("driver is %q, %v; Kubernetes says %q", found.driver, err, migrated.Spec.CSI.Driver)
	}
}

// TestMigrationLosesAZone: a zone that stands in the URL alone is read here, and not
// there; the volume is the same.
func TestMigrationLosesAZone(t *testing.T) {
	t.Parallel()
	pv := persistent(inTreeEBS("aws://us-west-2b/vol-0abc"), nil)
	migrated, err := csitranslation.New().TranslateInTreePVToCSI(klog.Background(), pv)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		pv   *corev1.PersistentVolume
		want cloud.VolumeRef
	}{
		"before": {pv, cloud.VolumeRef{Region: "us-west-2", Zone: "us-west-2b", Handle: "vol-0abc"}},
		"after":  {migrated, cloud.VolumeRef{Region: "us-west-2", Handle: "vol-0abc"}},
	} {
		got, err := ParsePV(tt.pv, Defaults{Region: "us-west-2"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTopologyKeys holds the labels of zones to those that Kubernetes migrates to.
func TestTopologyKeys(t *testing.T) {
	t.Parallel()
	for driver, source := range map[string]corev1.PersistentVolumeSource{DriverEBS: inTreeEBS("vol-0abc"), DriverPD: inTreePD()} {
		migrated, err := csitranslation.New().TranslateInTreePVToCSI(klog.Background(), persistent(source, zonal(zoneLabel, "z")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(zonal(TopologyKey(driver), "z"), migrated.Spec.NodeAffinity); diff != "" {
			t.Errorf("%s (-want +got):\n%s", driver, diff)
		}
	}
}
