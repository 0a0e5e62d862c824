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

// EcommerceApp returns a shop with all five components, in YAML.
func EcommerceApp() []byte { return bytes.Clone(ecommerceApp) }

// WebApp returns a web application, in YAML.
func WebApp() []byte { return bytes.Clone(webApp) }

// MySQLCluster returns a database with the storage of a cloud, in YAML.
func MySQLCluster() []byte { return bytes.Clone(mySQLCluster) }

// CloudAccount returns an account that is reached without keys, in YAML.
func CloudAccount() []byte { return bytes.Clone(cloudAccount) }

// CloudAccountSecret returns a Secret with keys and an account that uses it, in YAML.
func CloudAccountSecret() []byte { return bytes.Clone(cloudAccountSecret) }

// CloudAccountBucket returns an account with a bucket for dumps, in YAML.
func CloudAccountBucket() []byte { return bytes.Clone(cloudAccountBucket) }

// Backup returns a backup that a person asks for, in YAML.
func Backup() []byte { return bytes.Clone(backup) }

// Restore returns a restore of that backup in another cluster, in YAML.
func Restore() []byte { return bytes.Clone(restore) }
