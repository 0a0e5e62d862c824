package apitest

import (
	"fmt"

	"sigs.k8s.io/yaml"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/config/samples"
)

// Seed returns config/samples/ecommerceapp.yaml: an application with all five components,
// without the API server's defaults.
func Seed() *v1.EcommerceApp { return decode[v1.EcommerceApp](samples.EcommerceApp()) }

// SeedWebApp returns config/samples/webapp.yaml.
func SeedWebApp() *webappv1.WebApp { return decode[webappv1.WebApp](samples.WebApp()) }

// SeedMySQLCluster returns config/samples/mysqlcluster.yaml.
func SeedMySQLCluster() *mysqlv1.MySQLCluster {
	return decode[mysqlv1.MySQLCluster](samples.MySQLCluster())
}

// SeedCloudAccount returns config/samples/cloudaccount.yaml.
func SeedCloudAccount() *v1.CloudAccount { return decode[v1.CloudAccount](samples.CloudAccount()) }

// SeedBackup returns config/samples/backup.yaml.
func SeedBackup() *v1.Backup { return decode[v1.Backup](samples.Backup()) }

// SeedRestore returns config/samples/restore.yaml.
func SeedRestore() *v1.Restore { return decode[v1.Restore](samples.Restore()) }

// decode panics on a sample that does not fit its type, because every test that uses the
// sample should fail.
func decode[T any](document []byte) *T {
	object := new(T)
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		panic(fmt.Sprintf("decoding a sample: %v", err))
	}
	return object
}
