package restore

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// TestCanImport checks that a restore of a snapshot begins only where a volume can be made, and says what to install.
func TestCanImport(t *testing.T) {
	t.Parallel()
	kinds := []string{csi.CapabilitySnapshots}
	for name, tt := range map[string]struct {
		capabilities []string
		driver, says string
		provisioner  string
	}{
		"all is there":     {kinds, csi.DriverEBS, "", csi.DriverEBS},
		"an in-tree class": {kinds, csi.DriverEBS, "", "kubernetes.io/aws-ebs"},
		"another driver":   {kinds, "", "has the provisioner driver.longhorn.io, which makes no volumes from snapshots of aws", "driver.longhorn.io"},
		"no kinds":         {nil, csi.DriverEBS, csi.InstallSnapshots, csi.DriverEBS},
		"no class":         {kinds, "", "has no storage class for the claim", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &work{member: &v1.MemberCluster{}, targetFacts: &targetFacts{class: storageClass{provisioner: tt.provisioner, driver: tt.driver}}}
			if got := csi.DriverOfClass(v1.ProviderAWS, tt.provisioner); got != tt.driver {
				t.Errorf("the driver of %s is %q, want %q", tt.provisioner, got, tt.driver)
			}
			w.member.Status.Provider, w.member.Status.Capabilities = v1.ProviderAWS, tt.capabilities
			got := w.canImport()
			if got.Stops() != (tt.says != "") || got.Fatal || !strings.Contains(got.Message, tt.says) {
				t.Errorf("result %+v, want one that says %q", got, tt.says)
			}
		})
	}
}
