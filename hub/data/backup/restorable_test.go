package backup

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// attachingHub is a hub with a member that attaches what the hub makes, and an account of Azure.
type attachingHub struct{ emptyHub }

func (attachingHub) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *v1.MemberCluster:
		o.Annotations = map[string]string{v1.AttachesVolumesAnnotation: "true"}
	case *v1.CloudAccount:
		o.Spec.Azure = &v1.AzureAccount{ResourceGroups: map[string]v1.ResourceGroup{"westeurope": "hub"}}
	}
	return nil
}

// TestRestorable checks that a backup that cannot be restored to its own cluster says so, also while the member does
// not respond.
func TestRestorable(t *testing.T) {
	t.Parallel()
	const handle = "/subscriptions/s/resourceGroups/MC_shop/providers/Microsoft.Compute/disks/d"
	inZone, unzoned := cloud.Volume{Ref: cloud.VolumeRef{Zone: "1"}}, cloud.Volume{}
	for name, tt := range map[string]struct {
		hub      client.Client
		provider v1.Provider
		claim    claim
		volume   cloud.Volume
		want     string
	}{
		"EBS":                          {emptyHub{}, v1.ProviderAWS, claim{driver: csi.DriverEBS}, cloud.Volume{}, ""},
		"Auto Mode":                    {emptyHub{}, v1.ProviderAWS, claim{driver: csi.DriverEBSAuto}, cloud.Volume{}, v1.ReasonNotAttachable},
		"Auto Mode that attaches":      {attachingHub{}, v1.ProviderAWS, claim{driver: csi.DriverEBSAuto}, cloud.Volume{}, ""},
		"a scoped role":                {emptyHub{}, v1.ProviderAWS, claim{driver: csi.DriverEBS}, cloud.Volume{Tags: cloud.Tags{"ebs.csi.aws.com/cluster-name": "c"}}, v1.ReasonNotAttachable},
		"no zone":                      {attachingHub{}, v1.ProviderAzure, claim{}, unzoned, v1.ReasonNotRestorable},
		"another group":                {attachingHub{}, v1.ProviderAzure, claim{ref: cloud.VolumeRef{Handle: handle}}, inZone, ""},
		"a group of an unknown member": {emptyHub{}, v1.ProviderAzure, claim{ref: cloud.VolumeRef{Handle: handle}}, inZone, ""},
		"a regional disk":              {emptyHub{}, v1.ProviderGCP, claim{ref: cloud.VolumeRef{Handle: "projects/p/regions/r/disks/d"}}, cloud.Volume{}, v1.ReasonNotRestorable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(tt.hub, nil)
			w.backup.Status.Provider = tt.provider
			w.concludeRestorable(w.obstacle(t.Context(), tt.claim, tt.volume))
			c := meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionRestorable)
			if (c == nil) != (tt.want == "") || c != nil && (c.Reason != tt.want || c.Message == "") {
				t.Errorf("condition %+v, want the reason %q", c, tt.want)
			}
			w.concludeRestorable(csi.Obstacle{})
			if meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionRestorable) != nil {
				t.Error("the condition stays without an obstacle")
			}
		})
	}
}
