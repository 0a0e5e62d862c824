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

// EcommerceApp returns a shop with all five components, in YAML.
func EcommerceApp() []byte { return bytes.Clone(ecommerceApp) }

// WebApp returns a web application, in YAML.
func WebApp() []byte { return bytes.Clone(webApp) }

// MySQLCluster returns a database with the storage of a cloud, in YAML.
func MySQLCluster() []byte { return bytes.Clone(mySQLCluster) }
