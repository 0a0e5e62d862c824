package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
)

// WebAppBuilder builds a WebApp.
type WebAppBuilder struct {
	app webappv1.WebApp
}

// WebApp returns a builder for a web application in the namespace default.
func WebApp(name string) *WebAppBuilder {
	b := &WebAppBuilder{}
	b.app.SetGroupVersionKind(webappv1.GroupVersion.WithKind("WebApp"))
	b.app.Name, b.app.Namespace = name, metav1.NamespaceDefault
	b.app.Spec.Image = Image
	return b
}

// Obj returns a copy of the object.
func (b *WebAppBuilder) Obj() *webappv1.WebApp { return b.app.DeepCopy() }

// With applies f to the object.
func (b *WebAppBuilder) With(change func(*webappv1.WebApp)) *WebAppBuilder {
	change(&b.app)
	return b
}

// Namespace sets the namespace.
func (b *WebAppBuilder) Namespace(namespace string) *WebAppBuilder {
	b.app.Namespace = namespace
	return b
}

// UID sets the UID, as an API server does.
func (b *WebAppBuilder) UID(uid types.UID) *WebAppBuilder {
	b.app.UID = uid
	return b
}

// Image sets the image.
func (b *WebAppBuilder) Image(image string) *WebAppBuilder {
	b.app.Spec.Image = image
	return b
}

// Replicas sets the number of pods.
func (b *WebAppBuilder) Replicas(replicas int32) *WebAppBuilder {
	b.app.Spec.Replicas = &replicas
	return b
}

// Port sets the port that the container listens on.
func (b *WebAppBuilder) Port(port int32) *WebAppBuilder {
	b.app.Spec.Port = port
	return b
}
