package csi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

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
