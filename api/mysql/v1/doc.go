// Package v1 contains version v1 of the API group mysql.example.com.
//
// # Purpose
//
// The package defines MySQLCluster: the database component of an application without the
// application. Its StorageClass is created from storage.parameters or from the provider's
// block of cloudConfig.
//
// # Non-goals
//
// The hub does not manage a MySQLCluster: it exists in one cluster only. No managed database
// service is called: cloudConfig.aws.rds determines the preferred instance type of the
// nodes and the retention of dumps.
//
// # Trade-offs
//
// There is no separate kind for a minimal database with only a version and a storage size:
// that is a MySQLCluster without the other fields.
//
// storageClass and storageClassName are aliases, because existing manifests use both. Two
// different values are refused.
//
// backup.retention is a number of days, because existing manifests have it. In an
// EcommerceApp it is an object with keepLast and keepDays.
//
// +kubebuilder:object:generate=true
// +groupName=mysql.example.com
package v1
