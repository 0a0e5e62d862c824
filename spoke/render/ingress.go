package render

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	noteSelfSigned          = "cert-manager is not installed in this cluster: the certificate is self-signed"
	fixSelfSigned           = "; install it, or set spec.security.tls.secretRef in place of issuerRef"
	noteCertificatesUnknown = "the Certificates of this cluster cannot be listed: one that exists stays in use, a missing one is created later"

	certificateSuffix = "-certificate"
)

func (s *shop) ingressPart() objectparts.Part {
	p := s.part(Ingress)
	p.App = Ingress
	return p
}

// ingress renders the Ingress or the HTTPRoute, its certificate, and the login proxy.
func (s *shop) ingress() (component.Component, error) {
	c := component.Component{Name: Ingress, DependsOn: []string{Frontend}, References: s.edgeReferences()}
	secret := ""
	if s.app.Spec.Security.TLS.Enabled {
		name, certificate, note, err := s.certificate()
		if err != nil {
			return component.Component{}, err
		}
		secret, c.Note = name, note
		if note == noteSelfSigned {
			c.SelfSigned = note + fixSelfSigned
		}
		c.Objects = append(c.Objects, certificate...)
	}
	backend := s.frontend.name
	if s.app.Spec.Security.Authentication.Enabled {
		p := s.newProxy()
		backend = p.name
		c.Objects = append(c.Objects, p.objects()...)
		if c.Impairment = p.impairment(); c.Impairment != "" {
			c.Impaired = v1.ReasonLoginNotConfigured
		}
	}
	c.Fallbacks = s.selfSignedUntilIssued(backend)
	s.expose(&c, backend, secret)
	return c, nil
}

// edgeReferences returns what the Ingress and the login proxy refer to. An HTTPRoute names no
// certificate.
func (s *shop) edgeReferences() []component.Key {
	security, pods := s.app.Spec.Security, v1.PodSettings{}
	if security.Authentication.Enabled {
		pods = s.frontend.spec.PodSettings
	}
	refs := objectparts.NewReferences(s.owner.Namespace, pods)
	if security.Authentication.Enabled {
		refs.AddSecret(security.Authentication.SecretRef)
	}
	if security.TLS.Enabled && s.hasIngress() {
		refs.AddSecret(security.TLS.SecretRef)
	}
	return refs.Keys()
}

// certificate returns the name of the certificate's Secret, the objects that create it,
// and a note for the user. Each way uses a separate Secret, so that two writers never
// share one if cert-manager is installed later.
func (s *shop) certificate() (string, []component.Object, string, error) {
	tls := s.app.Spec.Security.TLS
	if tls.SecretRef != nil {
		return tls.SecretRef.Name, nil, "", nil
	}
	hosts := s.hosts()
	name := s.owner.ChildName(certificateSuffix, objectparts.MaxName)
	if tls.IssuerRef != nil && s.cluster.CertificatesUnknown {
		return name, nil, noteCertificatesUnknown, nil // A Certificate that exists stays in use.
	}
	if tls.IssuerRef == nil || !s.cluster.Certificates {
		note := ""
		if tls.IssuerRef != nil {
			note = noteSelfSigned
		}
		secret := s.selfSigned()
		return secret.Resource.GetName(), []component.Object{secret}, note, nil
	}
	if len(hosts) == 0 {
		return "", nil, "", fmt.Errorf("spec.ingress.host must be set when spec.security.tls.issuerRef is: a certificate needs a name")
	}
	p := s.ingressPart()
	certificate := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"secretName": name,
			"dnsNames":   untyped(hosts),
			"privateKey": map[string]any{"rotationPolicy": "Always"},
			"issuerRef": map[string]any{
				"group": "cert-manager.io",
				"kind":  cmp.Or(tls.IssuerRef.Kind, "ClusterIssuer"),
				"name":  tls.IssuerRef.Name,
			},
		},
	}}
	identify(certificate, objectparts.Type("cert-manager.io/v1", "Certificate"), p.Meta(name))
	return name, []component.Object{{Resource: certificate}}, "", nil
}

// selfSignedUntilIssued keeps a self-signed certificate in use until cert-manager has issued one; nil
// unless it is to issue one. An HTTPRoute names no certificate.
func (s *shop) selfSignedUntilIssued(backend string) []component.Fallback {
	tls := s.app.Spec.Security.TLS
	if !tls.Enabled || tls.SecretRef != nil || tls.IssuerRef == nil || !s.cluster.Certificates && !s.cluster.CertificatesUnknown {
		return nil
	}
	secret := s.selfSigned()
	objects := []component.Object{secret}
	if s.hasIngress() {
		objects = append(objects, component.Object{Resource: s.ingressObject(backend, secret.Resource.GetName())})
	}
	return []component.Fallback{{
		Until: component.Key{
			GroupKind: schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"},
			Namespace: s.owner.Namespace, Name: s.owner.ChildName(certificateSuffix, objectparts.MaxName),
		},
		Objects: objects,
	}}
}

func (s *shop) selfSigned() component.Object {
	secret := objectparts.Secret(s.ingressPart(), s.owner.ChildName("-tls", objectparts.MaxName), nil)
	secret.Type = corev1.SecretTypeTLS
	names := s.hosts()
	if len(names) == 0 {
		names = []string{s.frontend.name + "." + s.owner.Namespace + ".svc"}
	}
	return component.Object{Resource: secret, Once: true, Generate: &component.Generate{
		TLS: &component.SelfSigned{CommonName: objectparts.LabelValue(s.owner.Name), DNSNames: names},
	}}
}

func (s *shop) ingressObject(backend, secret string) *networkingv1.Ingress {
	p := s.ingressPart()
	ingress := &networkingv1.Ingress{
		TypeMeta:   objectparts.Type("networking.k8s.io/v1", "Ingress"),
		ObjectMeta: p.Meta(s.owner.ChildName("-ingress", objectparts.MaxName)),
		Spec: networkingv1.IngressSpec{
			IngressClassName: s.app.Spec.Ingress.ClassName,
		},
	}
	hosts := s.hosts()
	if len(hosts) == 0 {
		hosts = []string{""} // Any name.
	}
	for _, host := range hosts {
		ingress.Spec.Rules = append(ingress.Spec.Rules, networkingv1.IngressRule{
			Host: host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path:     "/",
					PathType: new(networkingv1.PathTypePrefix),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: backend,
						Port: networkingv1.ServiceBackendPort{Name: httpPort},
					}},
				}},
			}},
		})
	}
	if annotations := s.edgeAnnotations(dnsIngressSource); len(annotations) > 0 {
		ingress.Annotations = annotations
	}
	if secret != "" {
		ingress.Spec.TLS = []networkingv1.IngressTLS{{SecretName: secret, Hosts: s.hosts()}}
	}
	return ingress
}
