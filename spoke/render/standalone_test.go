package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestWithoutHub(t *testing.T) {
	backup := func(policy v1.BackupPolicy) func(*v1.EcommerceApp) {
		return func(a *v1.EcommerceApp) { a.Spec.Database.Backup = policy }
	}
	everything := func(a *v1.EcommerceApp) {
		a.Spec.Database.StorageProfile = v1.StorageFast
		a.Spec.Database.Backup = v1.BackupPolicy{
			Enabled: true, Schedule: "0 2 * * *", Method: v1.BackupSnapshot, CopyToRegions: []string{"eu-west-1"},
			MaxRPO: &metav1.Duration{Duration: time.Hour}, Verify: v1.VerifyPolicy{Schedule: "0 4 * * *"},
		}
		a.Spec.Ingress.ExternalDNS = &v1.ExternalDNS{}
		a.Spec.CloudConfig.GCP = &v1.GCPConfig{}
		a.Spec.Placement.MaxClusters = 1
		a.Spec.Overrides = []v1.Override{{Image: "shop:v2"}}
		a.Spec.Rollout = &v1.Rollout{}
		a.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
		a.Spec.Deletion.UnreachableTimeout = &metav1.Duration{}
	}
	const without = "without a hub these fields have no effect: "
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   Unsupported
	}{
		"dumps":                        {backup(v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *", Method: v1.BackupDump, TimeZone: "UTC"}), Unsupported{}},
		"dumps by default":             {backup(v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *", Method: v1.BackupAuto}), Unsupported{}},
		"snapshots that are not taken": {backup(v1.BackupPolicy{Method: v1.BackupSnapshot}), Unsupported{Message: without + "spec.database.backup.method"}},
		"no database":                  {func(a *v1.EcommerceApp) { a.Spec.Database = nil }, Unsupported{}},
		"everything": {everything, Unsupported{Message: without + strings.Join([]string{
			"spec.database.storageProfile", "spec.database.backup.method", "spec.database.backup.copyToRegions", "spec.database.backup.maxRPO",
			"spec.database.backup.verify", "spec.ingress.externalDNS", "spec.cloudConfig", "spec.placement", "spec.overrides", "spec.rollout", "spec.propagate", "spec.deletion.unreachableTimeout",
		}, ", "), NoBackups: true}},
		"everything, of a copy": {func(a *v1.EcommerceApp) {
			everything(a)
			a.Annotations = map[string]string{v1.HubAppUIDAnnotation: "uid"}
		}, Unsupported{}},
	} {
		t.Run(name, func(t *testing.T) {
			app := apitest.App("shop").Database(v1.EnginePostgreSQL, "15.4", "1Gi").Obj()
			tt.change(app)
			if diff := cmp.Diff(tt.want, WithoutHub(app)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWithoutRDS checks that a MySQLCluster that describes a managed database says that there is none.
func TestWithoutRDS(t *testing.T) {
	db := sampleMySQL(t)
	if got := WithoutRDS(db); !strings.Contains(got.Message, "spec.cloudConfig.aws.rds has no effect") || got.NoBackups {
		t.Errorf("of the sample: %+v", got)
	}
	db.Spec.CloudConfig.AWS.RDS = mysqlv1.RDSConfig{BackupRetention: new(int32(7))}
	if got := WithoutRDS(db); got.Message == "" {
		t.Error("of a retention alone: nothing")
	}
	db.Spec.CloudConfig.AWS.RDS = mysqlv1.RDSConfig{}
	for _, aws := range []*mysqlv1.AWSConfig{db.Spec.CloudConfig.AWS, nil} {
		db.Spec.CloudConfig.AWS = aws
		if got := WithoutRDS(db); got != (Unsupported{}) {
			t.Errorf("without rds: %+v", got)
		}
	}
}
