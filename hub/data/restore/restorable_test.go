package restore

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// azureHub is a hub with nothing but an account of Azure.
type azureHub struct{ client.Client }

func (azureHub) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	account, is := o.(*v1.CloudAccount)
	if !is {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	account.Spec.Azure = &v1.AzureAccount{ResourceGroups: map[string]v1.ResourceGroup{"westeurope": "hub"}}
	return nil
}

// TestMakeable checks that a Restore whose volume could not be made or attached is refused before anything is
// stopped, and a verification too.
func TestMakeable(t *testing.T) {
	t.Parallel()
	const handle = "/subscriptions/s/resourceGroups/MC_shop/providers/Microsoft.Compute/disks/d"
	azure := func(w *work) {
		w.member.Status.Provider, w.member.Status.Region, w.member.Status.Zones = v1.ProviderAzure, "westeurope", []string{"westeurope-1"}
		w.targetFacts.class.driver = csi.DriverAzureDisk
	}
	for name, tt := range map[string]struct {
		change func(*work)
		live   *claim
		want   string
	}{
		"as it is":      {func(*work) {}, nil, ""},
		"EKS Auto Mode": {func(w *work) { w.targetFacts.class.driver = csi.DriverEBSAuto }, nil, v1.ReasonNotAttachable},
		"Auto Mode, verified": {func(w *work) {
			w.targetFacts.class.driver, w.restore.Spec.Verify = csi.DriverEBSAuto, true
		}, nil, v1.ReasonNotAttachable},
		"Auto Mode that attaches them": {func(w *work) {
			w.targetFacts.class.driver = csi.DriverEBSAuto
			w.member.Annotations = map[string]string{v1.AttachesVolumesAnnotation: "true"}
		}, nil, ""},
		"AKS":                    {azure, nil, ""},
		"AKS without zones":      {func(w *work) { azure(w); w.member.Status.Zones = []string{"0"} }, nil, v1.ReasonNotRestorable},
		"AKS, zones not known":   {func(w *work) { azure(w); w.member.Status.Zones = nil }, nil, ""},
		"a zone-redundant class": {func(w *work) { azure(w); w.targetFacts.class.parameters = map[string]string{"skuName": "Premium_ZRS"} }, nil, v1.ReasonNotRestorable},
		"of a disk of another group": {func(w *work) {
			azure(w)
			w.member.Name, w.backup.Status.Snapshots[0].Volume = w.backup.Spec.ClusterRef.Name, handle
		}, nil, v1.ReasonNotAttachable},
		"into a cluster whose group is not known": {func(w *work) { azure(w); w.backup.Status.Snapshots[0].Volume = handle }, nil, ""},
		"in place of a disk that was restored before": {func(w *work) {
			azure(w)
			w.member.Name, w.backup.Status.Snapshots[0].Volume = w.backup.Spec.ClusterRef.Name, handle
		}, &claim{}, ""},
		"a regional class": {func(w *work) {
			w.member.Status.Provider = v1.ProviderGCP
			w.targetFacts.class = storageClass{driver: csi.DriverPD, parameters: map[string]string{"replication-type": "regional-pd"}}
		}, nil, v1.ReasonNotRestorable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := situation()
			w.client = azureHub{}
			w.targetFacts = &targetFacts{class: storageClass{driver: csi.DriverEBS}}
			tt.change(w)
			if result := w.canCreateVolume(t.Context(), &w.backup.Status.Snapshots[0], tt.live); result.Reason != tt.want || result.Fatal != (tt.want != "") {
				t.Errorf("%+v, want the reason %q", result, tt.want)
			}
		})
	}
}

// TestFactsOfTheVolumeInItsPlace checks that the facts of the volume that is attached now win over those of an
// earlier one.
func TestFactsOfTheVolumeInItsPlace(t *testing.T) {
	t.Parallel()
	w := situation()
	w.targetFacts = &targetFacts{}
	w.member.Name = w.backup.Spec.ClusterRef.Name
	s := &v1.VolumeSnapshot{Volume: "old"}
	if got := w.restoreFacts(s, &claim{ref: cloud.VolumeRef{Handle: "new"}}).Handle; got != "new" {
		t.Errorf("handle %q, want that of the volume that is replaced", got)
	}
	if got := w.restoreFacts(s, nil).Handle; got != "old" {
		t.Errorf("handle %q, want that of the volume that was snapshotted", got)
	}
}
