package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Image is the image of builders that need one.
const Image = "registry.example.com/shop:v1"

// AppBuilder builds an EcommerceApp.
type AppBuilder struct {
	app v1.EcommerceApp
}

// App returns a builder for an application in the namespace default with only a frontend.
func App(name string) *AppBuilder {
	b := &AppBuilder{}
	b.app.SetGroupVersionKind(v1.GroupVersion.WithKind("EcommerceApp"))
	b.app.Name, b.app.Namespace = name, metav1.NamespaceDefault
	b.app.Spec.Image = Image
	return b
}

// Obj returns a copy of the object.
func (b *AppBuilder) Obj() *v1.EcommerceApp { return b.app.DeepCopy() }

// With applies f to the object.
func (b *AppBuilder) With(change func(*v1.EcommerceApp)) *AppBuilder {
	change(&b.app)
	return b
}

// Namespace sets the namespace.
func (b *AppBuilder) Namespace(namespace string) *AppBuilder {
	b.app.Namespace = namespace
	return b
}

// Label adds a label.
func (b *AppBuilder) Label(key, value string) *AppBuilder {
	metav1.SetMetaDataLabel(&b.app.ObjectMeta, key, value)
	return b
}

// Database adds a database with one pod.
func (b *AppBuilder) Database(engine v1.Engine, version, storage string) *AppBuilder {
	one := int32(1)
	b.app.Spec.Database = &v1.Database{Engine: engine, Version: version, Storage: storage, Replicas: &one}
	return b
}

// DatabaseReplicas sets the number of pods of the database. Call Database first.
func (b *AppBuilder) DatabaseReplicas(replicas int32) *AppBuilder {
	b.app.Spec.Database.Replicas = &replicas
	return b
}

// Backup enables backups of the database. Call Database first.
func (b *AppBuilder) Backup(schedule string) *AppBuilder {
	b.app.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Schedule: v1.CronSchedule(schedule)}
	return b
}
