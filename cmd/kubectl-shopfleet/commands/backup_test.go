package commands

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The method depends on the cluster. Dumps are not copied to other regions.
func TestNewBackup(t *testing.T) {
	t.Parallel()
	account := &v1.ObjectReference{Name: "prod"}
	tests := map[string]struct {
		account  *v1.ObjectReference
		provider v1.Provider
		policy   v1.BackupMethod
		want     v1.BackupMethod
	}{
		"in a cloud":            {account, v1.ProviderAWS, "", v1.BackupSnapshot},
		"without an account":    {nil, v1.ProviderAWS, "", v1.BackupDump},
		"without snapshots":     {account, v1.ProviderOther, v1.BackupAuto, v1.BackupDump},
		"dumps are asked for":   {account, v1.ProviderAWS, v1.BackupDump, v1.BackupDump},
		"snapshots all the way": {nil, v1.ProviderAWS, v1.BackupSnapshot, v1.BackupSnapshot},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop"},
				Spec: v1.EcommerceAppSpec{Database: &v1.Database{Backup: v1.BackupPolicy{
					Method: tt.policy, CopyToRegions: []string{"us-east-1"},
				}}},
			}
			member := &v1.MemberCluster{
				ObjectMeta: metav1.ObjectMeta{Name: "eu-1"},
				Spec:       v1.MemberClusterSpec{CloudAccountRef: tt.account}, Status: v1.MemberClusterStatus{Provider: tt.provider},
			}
			want := v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: tt.want, Deletion: v1.DeletionRetain}
			if tt.want == v1.BackupSnapshot {
				want.CopyToRegions = []string{"us-east-1"}
			}
			if diff := cmp.Diff(want, newBackup(app, member, time.Unix(0, 0)).Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}
