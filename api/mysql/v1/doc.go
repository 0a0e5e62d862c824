// Package v1 is version v1 of the API group mysql.example.com: MySQLCluster, a
// database on its own, with the storage of the cloud that it runs in.
//
// # What
//
// A MySQLCluster is the database component of a shop without the shop, and a
// StorageClass made from storage.parameters or from the provider's block of
// cloudConfig.
//
// # Not
//
// Nothing of the hub: a MySQLCluster lives in one cluster. No managed database
// service is called: cloudConfig.aws.rds says what size of node the database
// wants and how long backups are kept.
//
// # Trade-offs
//
// There is no further kind for the smallest of databases, of a version and a
// storage size alone: that is a MySQLCluster that leaves the rest out.
//
// storageClass and storageClassName are two names for one thing, because the
// documents that people start from use both; giving two different values is
// refused.
//
// +kubebuilder:object:generate=true
// +groupName=mysql.example.com
package v1
