package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// BackupBuilder builds a Backup.
type BackupBuilder struct {
	backup v1.Backup
}

// Backup returns a builder for a backup in the namespace default, of the application shop
// in the cluster eu-1.
func Backup(name string) *BackupBuilder {
	b := &BackupBuilder{}
	b.backup.SetGroupVersionKind(v1.GroupVersion.WithKind("Backup"))
	b.backup.Name, b.backup.Namespace = name, metav1.NamespaceDefault
	return b.Of("shop", "eu-1")
}

// Obj returns a copy of the object.
func (b *BackupBuilder) Obj() *v1.Backup { return b.backup.DeepCopy() }

// With applies f to the object.
func (b *BackupBuilder) With(change func(*v1.Backup)) *BackupBuilder {
	change(&b.backup)
	return b
}

// Namespace sets the namespace.
func (b *BackupBuilder) Namespace(namespace string) *BackupBuilder {
	b.backup.Namespace = namespace
	return b
}

// UID sets the UID, as an API server does.
func (b *BackupBuilder) UID(uid types.UID) *BackupBuilder {
	b.backup.UID = uid
	return b
}

// Of sets the application and the cluster whose database is backed up.
func (b *BackupBuilder) Of(app, cluster string) *BackupBuilder {
	b.backup.Spec.AppRef.Name, b.backup.Spec.ClusterRef.Name = app, cluster
	return b
}

// Phase sets the phase in the status.
func (b *BackupBuilder) Phase(phase v1.BackupPhase) *BackupBuilder {
	b.backup.Status.Phase = phase
	return b
}

// RestoreBuilder builds a Restore.
type RestoreBuilder struct {
	restore v1.Restore
}

// Restore returns a builder for a restore in the namespace default, of the backup named
// backup to its own cluster.
func Restore(name string) *RestoreBuilder {
	b := &RestoreBuilder{}
	b.restore.SetGroupVersionKind(v1.GroupVersion.WithKind("Restore"))
	b.restore.Name, b.restore.Namespace = name, metav1.NamespaceDefault
	return b.From("backup")
}

// Obj returns a copy of the object.
func (b *RestoreBuilder) Obj() *v1.Restore { return b.restore.DeepCopy() }

// Namespace sets the namespace.
func (b *RestoreBuilder) Namespace(namespace string) *RestoreBuilder {
	b.restore.Namespace = namespace
	return b
}

// From sets the backup.
func (b *RestoreBuilder) From(backup string) *RestoreBuilder {
	b.restore.Spec.BackupRef.Name = backup
	return b
}

// To sets the cluster.
func (b *RestoreBuilder) To(cluster string) *RestoreBuilder {
	b.restore.Spec.ClusterRef.Name = cluster
	return b
}

// Overwrite allows the restore to replace a volume.
func (b *RestoreBuilder) Overwrite() *RestoreBuilder {
	b.restore.Spec.Overwrite = true
	return b
}
