package render

import (
	"cmp"
	"errors"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// Web is the only component of a WebApp.
const Web = "web"

// WebApp renders a Deployment and a Service with the name of the WebApp. An error names
// the field of the spec that must change.
func WebApp(app *webappv1.WebApp, c Cluster) ([]component.Component, error) {
	if app.Spec.Image == "" {
		return nil, errors.New("spec.image must be set, for example to nginx:1.25")
	}
	owner := objectparts.Owner{Kind: "webapp", Name: app.Name, Namespace: app.Namespace, UID: app.UID, Cluster: c.Name}
	part := objectparts.Part{Owner: owner, Component: Web, App: Web, Version: objectparts.ImageVersion(app.Spec.Image)}
	name := owner.ChildName("", objectparts.MaxName)

	container := statelessContainer(Web, app.Spec.Image, cmp.Or(app.Spec.Port, servicePort))
	// nginx, the image of the examples, writes here.
	deployment := statelessDeployment(part, name, statelessPod(container, v1.PodUserIDsFixed, scratch{"run", "/var/run"}, scratch{"cache", "/var/cache/nginx"}))
	deployment.Spec.Replicas = new(valueOr(app.Spec.Replicas, 1))
	return []component.Component{{Name: Web, Objects: []component.Object{
		{Resource: deployment, Inputs: objectparts.Inputs(v1.PodSettings{}, app.Spec.Image, app.Spec.Port)},
		{Resource: objectparts.Service(part, name, corev1.ServicePort{Name: httpPort, Port: servicePort})},
	}}}, nil
}
