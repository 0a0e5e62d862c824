package render

import (
	"cmp"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	unservedHTTPRoutes = "the cluster does not serve HTTPRoutes, which spec.ingress.gatewayRef needs: install the Gateway API, " +
		"or set spec.ingress.className for an Ingress there"
	noteIngressInstead    = "the cluster does not serve HTTPRoutes: an Ingress is used in place of spec.ingress.gatewayRef"
	noteHTTPRoutesUnknown = "the HTTPRoutes of this cluster cannot be listed: one that exists stays in use, a missing one is created later"
)

// hasIngress reports whether the application has an Ingress, and not an HTTPRoute: it names no Gateway,
// or it names a class too and the cluster does not serve HTTPRoutes.
func (s *shop) hasIngress() bool {
	spec := s.app.Spec.Ingress
	return spec.GatewayRef == nil || spec.ClassName != nil && !s.cluster.HTTPRoutes && !s.cluster.HTTPRoutesUnknown
}

// expose adds the Ingress or the HTTPRoute of the component. The other one, if it exists, stays as it
// is until its replacement is ready.
func (s *shop) expose(c *component.Component, backend, secret string) {
	ingress, route := s.ingressObject(backend, secret), s.route(backend)
	keep := func(other, until component.Resource) {
		c.Fallbacks = append(c.Fallbacks, component.Fallback{
			Until: component.KeyOf(until), Objects: []component.Object{{Resource: other, Once: true}},
		})
	}
	if s.hasIngress() {
		c.Objects = append(c.Objects, component.Object{Resource: ingress})
		if s.app.Spec.Ingress.GatewayRef != nil {
			c.Note = joined(c.Note, noteIngressInstead)
		}
		if s.cluster.HTTPRoutes {
			keep(route, ingress)
		}
		return
	}
	keep(ingress, route)
	switch {
	case s.cluster.HTTPRoutes:
		c.Objects = append(c.Objects, component.Object{Resource: route})
	case s.cluster.HTTPRoutesUnknown:
		c.Note = joined(c.Note, noteHTTPRoutesUnknown)
	default:
		c.Unserved = unservedHTTPRoutes
	}
}

// untyped returns texts as a list of an unstructured object.
func untyped(texts []string) []any {
	list := make([]any, 0, len(texts))
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}

// route renders the HTTPRoute. Fields that the API server would set are set, so that what was
// applied equals what is rendered.
func (s *shop) route(backend string) *unstructured.Unstructured {
	spec := map[string]any{
		"rules": []any{map[string]any{
			"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{
				"group": "", "kind": "Service", "name": backend, "port": int64(servicePort), "weight": int64(1),
			}},
		}},
	}
	if ref := s.app.Spec.Ingress.GatewayRef; ref != nil {
		parent := map[string]any{
			"group": component.GatewayAPI().Group, "kind": "Gateway", "namespace": cmp.Or(ref.Namespace, s.owner.Namespace), "name": ref.Name,
		}
		if ref.SectionName != "" {
			parent["sectionName"] = ref.SectionName
		}
		spec["parentRefs"] = []any{parent}
	}
	if hosts := s.hosts(); len(hosts) > 0 {
		spec["hostnames"] = untyped(hosts)
	}
	route := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	identify(route, objectparts.Type(component.GatewayAPI().String(), "HTTPRoute"), s.ingressPart().Meta(s.owner.ChildName("-ingress", objectparts.MaxName)))
	if annotations := s.edgeAnnotations(dnsRouteSource); len(annotations) > 0 {
		route.SetAnnotations(maps.Clone(annotations))
	}
	return route
}
