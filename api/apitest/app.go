package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// UID sets the UID, as an API server does.
func (b *AppBuilder) UID(uid types.UID) *AppBuilder {
	b.app.UID = uid
	return b
}

// Generation sets the generation, as an API server does.
func (b *AppBuilder) Generation(generation int64) *AppBuilder {
	b.app.Generation = generation
	return b
}

// Label adds a label.
func (b *AppBuilder) Label(key, value string) *AppBuilder {
	metav1.SetMetaDataLabel(&b.app.ObjectMeta, key, value)
	return b
}

// Annotation adds an annotation.
func (b *AppBuilder) Annotation(key, value string) *AppBuilder {
	metav1.SetMetaDataAnnotation(&b.app.ObjectMeta, key, value)
	return b
}

// Finalizers sets the finalizers.
func (b *AppBuilder) Finalizers(finalizers ...string) *AppBuilder {
	b.app.Finalizers = finalizers
	return b
}

// Deleting marks the application as being deleted since the given time.
func (b *AppBuilder) Deleting(since metav1.Time) *AppBuilder {
	b.app.DeletionTimestamp = &since
	return b
}

// Image sets spec.image.
func (b *AppBuilder) Image(image string) *AppBuilder {
	b.app.Spec.Image = image
	return b
}

// Replicas sets spec.replicas.
func (b *AppBuilder) Replicas(replicas int32) *AppBuilder {
	b.app.Spec.Replicas = &replicas
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
	b.app.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Schedule: schedule}
	return b
}

// Backend sets image and replicas of the backend.
func (b *AppBuilder) Backend(image string, replicas int32) *AppBuilder {
	b.app.Spec.Backend.Image, b.app.Spec.Backend.Replicas = image, &replicas
	return b
}

// Frontend sets image and replicas of the frontend.
func (b *AppBuilder) Frontend(image string, replicas int32) *AppBuilder {
	b.app.Spec.Frontend.Image, b.app.Spec.Frontend.Replicas = image, &replicas
	return b
}

// Host sets the DNS name of the application.
func (b *AppBuilder) Host(host string) *AppBuilder {
	b.app.Spec.Ingress.Host = host
	return b
}

// Monitoring enables all parts of the monitoring.
func (b *AppBuilder) Monitoring() *AppBuilder {
	b.app.Spec.Monitoring = v1.Monitoring{Enabled: true, Prometheus: true, Grafana: true}
	return b
}

// TLS enables TLS.
func (b *AppBuilder) TLS() *AppBuilder {
	b.app.Spec.Security.TLS.Enabled = true
	return b
}

// Authentication enables the login.
func (b *AppBuilder) Authentication() *AppBuilder {
	b.app.Spec.Security.Authentication = v1.Authentication{Enabled: true, Provider: "oauth2"}
	return b
}

// Placement sets the placement.
func (b *AppBuilder) Placement(placement v1.Placement) *AppBuilder {
	b.app.Spec.Placement = placement
	return b
}

// Status sets the whole status.
func (b *AppBuilder) Status(status v1.EcommerceAppStatus) *AppBuilder {
	b.app.Status = status
	return b
}

// Phase sets the phase in the status.
func (b *AppBuilder) Phase(phase v1.Phase) *AppBuilder {
	b.app.Status.Phase = phase
	return b
}

// Condition adds a condition to the status.
func (b *AppBuilder) Condition(condition metav1.Condition) *AppBuilder {
	b.app.Status.Conditions = append(b.app.Status.Conditions, condition)
	return b
}

// Clusters adds entries to the inventory in the status.
func (b *AppBuilder) Clusters(clusters ...v1.ClusterStatus) *AppBuilder {
	b.app.Status.Clusters = append(b.app.Status.Clusters, clusters...)
	return b
}
