package samples

import (
	"bytes"
	_ "embed" // The files below.
)

//go:embed ecommerceapp.yaml
var ecommerceApp []byte

//go:embed webapp.yaml
var webApp []byte

//go:embed mysqlcluster.yaml
var mySQLCluster []byte

//go:embed cloudaccount.yaml
var cloudAccount []byte

//go:embed cloudaccount-secret.yaml
var cloudAccountSecret []byte

//go:embed cloudaccount-bucket.yaml
var cloudAccountBucket []byte

//go:embed backup.yaml
var backup []byte

//go:embed restore.yaml
var restore []byte

// EcommerceApp returns an EcommerceApp with all five components, in YAML.
func EcommerceApp() []byte { return bytes.Clone(ecommerceApp) }

// WebApp returns a WebApp, in YAML.
func WebApp() []byte { return bytes.Clone(webApp) }

// MySQLCluster returns a MySQLCluster with cloud storage, in YAML.
func MySQLCluster() []byte { return bytes.Clone(mySQLCluster) }

// CloudAccount returns a CloudAccount with federated credentials, in YAML.
func CloudAccount() []byte { return bytes.Clone(cloudAccount) }

// CloudAccountSecret returns a Secret with keys and a CloudAccount that uses it, in YAML.
func CloudAccountSecret() []byte { return bytes.Clone(cloudAccountSecret) }

// CloudAccountBucket returns a CloudAccount with a bucket for dumps, in YAML.
func CloudAccountBucket() []byte { return bytes.Clone(cloudAccountBucket) }

// Backup returns a Backup on demand, in YAML.
func Backup() []byte { return bytes.Clone(backup) }

// Restore returns a Restore of that Backup in another cluster, in YAML.
func Restore() []byte { return bytes.Clone(restore) }
