package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MySQLBuilder builds a MySQLCluster.
type MySQLBuilder struct {
	cluster mysqlv1.MySQLCluster
}

// MySQLCluster returns a builder for a database of 10Gi in the namespace default.
func MySQLCluster(name string) *MySQLBuilder {
	b := &MySQLBuilder{}
	b.cluster.SetGroupVersionKind(mysqlv1.GroupVersion.WithKind("MySQLCluster"))
	b.cluster.Name, b.cluster.Namespace = name, metav1.NamespaceDefault
	b.cluster.Spec.Version = "8.4"
	b.cluster.Spec.Storage.Size = "10Gi"
	return b
}

// Obj returns a copy of the object.
func (b *MySQLBuilder) Obj() *mysqlv1.MySQLCluster { return b.cluster.DeepCopy() }

// With applies f to the object.
func (b *MySQLBuilder) With(change func(*mysqlv1.MySQLCluster)) *MySQLBuilder {
	change(&b.cluster)
	return b
}

// Namespace sets the namespace.
func (b *MySQLBuilder) Namespace(namespace string) *MySQLBuilder {
	b.cluster.Namespace = namespace
	return b
}

// UID sets the UID, as an API server does.
func (b *MySQLBuilder) UID(uid types.UID) *MySQLBuilder {
	b.cluster.UID = uid
	return b
}

// Replicas sets the number of pods.
func (b *MySQLBuilder) Replicas(replicas int32) *MySQLBuilder {
	b.cluster.Spec.Replicas = &replicas
	return b
}

// Storage sets the size of each volume.
func (b *MySQLBuilder) Storage(size string) *MySQLBuilder {
	b.cluster.Spec.Storage.Size = size
	return b
}

// StorageClass sets the class of the volumes, and its parameters if there are any.
func (b *MySQLBuilder) StorageClass(name string, parameters map[string]string) *MySQLBuilder {
	b.cluster.Spec.Storage.StorageClass, b.cluster.Spec.Storage.Parameters = name, parameters
	return b
}

// Backup enables backups.
func (b *MySQLBuilder) Backup(schedule string) *MySQLBuilder {
	b.cluster.Spec.Backup.Schedule = schedule
	return b
}

// Cloud sets the provider and the region.
func (b *MySQLBuilder) Cloud(provider v1.Provider, region string) *MySQLBuilder {
	b.cluster.Spec.Cloud = mysqlv1.Cloud{Provider: provider, Region: region}
	return b
}
