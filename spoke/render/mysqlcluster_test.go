package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestStorageClass(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*mysqlv1.MySQLClusterSpec)
		cluster    Cluster
		driver     string
		parameters map[string]string
		class      string // The name of the volumes' class, up to its hash.
	}{
		"parameters win": {
			func(s *mysqlv1.MySQLClusterSpec) { s.Storage.Parameters["iops"] = "4000" }, Cluster{},
			"ebs.csi.aws.com", map[string]string{"type": "gp3", "iops": "4000"}, "gp3-",
		},
		"the provider's block alone": {
			func(s *mysqlv1.MySQLClusterSpec) { s.Storage.Parameters, s.Storage.StorageClass = nil, "" }, Cluster{},
			"ebs.csi.aws.com", map[string]string{"type": "gp3", "iops": "3000"}, "my-mysql-",
		},
		"gcp": {
			func(s *mysqlv1.MySQLClusterSpec) {
				s.Cloud.Provider, s.Storage.Parameters = v1.ProviderGCP, nil
				s.CloudConfig = mysqlv1.CloudConfig{GCP: &mysqlv1.GCPConfig{PDType: "pd-ssd"}}
			}, Cluster{}, "pd.csi.storage.gke.io", map[string]string{"type": "pd-ssd"}, "gp3-",
		},
		"azure by its block": {
			func(s *mysqlv1.MySQLClusterSpec) {
				s.Cloud.Provider, s.Storage.Parameters = "", nil
				s.CloudConfig = mysqlv1.CloudConfig{Azure: &mysqlv1.AzureConfig{DiskSKU: "Premium_LRS"}}
			}, Cluster{}, "disk.csi.azure.com", map[string]string{"skuName": "Premium_LRS"}, "gp3-",
		},
		"the cluster's provider": {
			func(s *mysqlv1.MySQLClusterSpec) { s.Cloud.Provider, s.CloudConfig = "", mysqlv1.CloudConfig{} },
			Cluster{Provider: v1.ProviderAzure},
			"disk.csi.azure.com", map[string]string{"type": "gp3", "iops": "3000"}, "gp3-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := sampleMySQL(t)
			c.change(&db.Spec)
			components, err := MySQLCluster(db, c.cluster)
			if err != nil {
				t.Fatal(err)
			}
			got := *all[*appsv1.StatefulSet](components[0].Objects)[0].Spec.VolumeClaimTemplates[0].Spec.StorageClassName
			classes := all[*storagev1.StorageClass](components[0].Objects)
			if len(classes) != 1 || classes[0].Provisioner != c.driver || classes[0].Name != got || classes[0].Namespace != "" {
				t.Fatalf("classes = %+v, volumes use %q", classes, got)
			}
			if diff := cmp.Diff(c.parameters, classes[0].Parameters); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(got, c.class) || len(got) != len(c.class)+8 {
				t.Errorf("the class is called %q", got)
			}
		})
	}
}

// TestNoStorageClass checks that a StorageClass is named, and must exist, if the spec has no settings of volumes.
func TestNoStorageClass(t *testing.T) {
	db := sampleMySQL(t)
	db.Spec.Storage.Parameters, db.Spec.CloudConfig = nil, mysqlv1.CloudConfig{}
	components, err := MySQLCluster(db, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	if made := all[*storagev1.StorageClass](components[0].Objects); len(made) != 0 {
		t.Errorf("made %+v", made)
	}
	claim := all[*appsv1.StatefulSet](components[0].Objects)[0].Spec.VolumeClaimTemplates[0]
	if got := *claim.Spec.StorageClassName; got != "gp3" {
		t.Errorf("the volumes are of class %q", got)
	}
}

// TestStorageClassNames checks that another content, or another database, has another name: a class cannot be
// changed.
func TestStorageClassNames(t *testing.T) {
	name := func(change func(*mysqlv1.MySQLCluster)) string {
		db := sampleMySQL(t)
		change(db)
		components, err := MySQLCluster(db, Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		return all[*storagev1.StorageClass](components[0].Objects)[0].Name
	}
	same := name(func(*mysqlv1.MySQLCluster) {})
	for what, change := range map[string]func(*mysqlv1.MySQLCluster){
		"parameters": func(db *mysqlv1.MySQLCluster) { db.Spec.Storage.Parameters["iops"] = "1" },
		"name":       func(db *mysqlv1.MySQLCluster) { db.Name = "other" },
		"namespace":  func(db *mysqlv1.MySQLCluster) { db.Namespace = "other" },
	} {
		if name(change) == same {
			t.Errorf("another %s has the same class", what)
		}
	}
	if name(func(db *mysqlv1.MySQLCluster) { db.Spec.Storage.Size = "200Gi" }) != same {
		t.Error("the class changes with the size")
	}
}

func TestPreferredNodes(t *testing.T) {
	for want, given := range map[string]mysqlv1.CloudConfig{
		"n2-standard-4":   {GCP: &mysqlv1.GCPConfig{GKEMachineType: "n2-standard-4"}},
		"Standard_D4s_v5": {Azure: &mysqlv1.AzureConfig{AKSNodePool: "Standard_D4s_v5"}},
	} {
		affinity := nodeAffinity(&mysqlv1.MySQLCluster{Spec: mysqlv1.MySQLClusterSpec{CloudConfig: given}})
		preferred := affinity.PreferredDuringSchedulingIgnoredDuringExecution
		if len(preferred) != 1 || preferred[0].Preference.MatchExpressions[0].Values[0] != want || affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			t.Errorf("%s: %+v", want, affinity)
		}
	}
}

func TestMySQLCluster(t *testing.T) {
	db := sampleMySQL(t)
	db.Spec.Backup.Retention = nil
	components, err := MySQLCluster(db, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	objects := components[0].Objects
	env := all[*batchv1.CronJob](objects)[0].Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env
	if !slices.Contains(env, corev1.EnvVar{Name: "KEEP_DAYS", Value: "30"}) {
		t.Errorf("dumps are not kept for the default of 30 days, whatever RDS would do: %+v", env)
	}
	affinity := all[*appsv1.StatefulSet](objects)[0].Spec.Template.Spec.Affinity.NodeAffinity
	region := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	if region.Values[0] != "eu-west-1" || len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		t.Errorf("%+v, want the region alone: an instance class of RDS is no size of a node", affinity)
	}

	db.Spec.Cloud.Provider, db.Spec.CloudConfig = v1.ProviderOther, mysqlv1.CloudConfig{}
	if _, err := MySQLCluster(db, Cluster{}); err == nil || !strings.HasPrefix(err.Error(), "spec.cloud.provider") {
		t.Errorf("error = %v, want one about spec.cloud.provider", err)
	}
	db.Spec.Storage.Size = "much"
	if _, err := MySQLCluster(db, Cluster{}); err == nil || !strings.HasPrefix(err.Error(), "spec.storage.size") {
		t.Errorf("error = %v, want one about spec.storage.size", err)
	}
}

func sampleMySQL(t *testing.T) *mysqlv1.MySQLCluster {
	t.Helper()
	db := &mysqlv1.MySQLCluster{}
	sample(t, "mysqlcluster", db)
	return db
}
