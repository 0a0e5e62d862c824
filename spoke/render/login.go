package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	// proxyImage has no digest, because none is published for the release.
	proxyImage = "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"
	proxyPort  = 4180
	// providerPort is the port of providers of logins, which are reached by HTTPS.
	providerPort = 443

	clientIDKey     = "client-id"
	clientSecretKey = "client-secret"
	issuerURLKey    = "issuer-url"
	cookieSecretKey = "cookie-secret"

	// placeholderIssuer is a host name that never resolves.
	placeholderIssuer = "https://login.invalid"
	keyLength         = 32
	// noDomain is a domain that no address of an email has. The proxy does not start without one.
	noDomain = "no-user.login.invalid"
)

// proxy is the oauth2-proxy in front of the frontend.
type proxy struct {
	shop *shop
	part objectparts.Part
	name string
	// client is the name of the Secret with the OAuth client's credentials.
	client string
	image  string
	// placeholders is true if these are placeholders, so that no user can log in.
	placeholders bool
}

func (s *shop) newProxy() proxy {
	p := proxy{
		shop: s, part: s.ingressPart(), name: s.owner.ChildName("-oauth2-proxy", objectparts.MaxName),
		image: objectparts.Image(s.app.Spec.ImageRegistry, cmp.Or(s.app.Spec.Security.Authentication.Image, proxyImage)),
	}
	p.part.App, p.part.Version = "oauth2-proxy", objectparts.ImageVersion(p.image)
	if ref := s.app.Spec.Security.Authentication.SecretRef; ref != nil {
		p.client = ref.Name
		return p
	}
	p.client, p.placeholders = p.name, true
	return p
}

func (p proxy) objects() []component.Object {
	objects := []component.Object{
		p.secret(),
		{Resource: p.networkPolicy()},
		{Resource: p.deployment(), Inputs: p.inputsHash()},
		{Resource: objectparts.Service(p.part, p.name, corev1.ServicePort{Name: httpPort, Port: servicePort})},
	}
	if p.replicas() > 1 {
		objects = append(objects, component.Object{Resource: statelessBudget(p.part, p.name)})
	}
	return objects
}

// replicas returns two if the frontend has more than one pod, otherwise one.
func (p proxy) replicas() int32 {
	return min(max(p.shop.frontend.leastReplicas(), 1), 2)
}

// secret returns the Secret with the cookie key, and with placeholder credentials unless
// the user provides a Secret.
func (p proxy) secret() component.Object {
	secret := objectparts.Secret(p.part, p.name, map[string]string{
		clientIDKey:  "placeholder",
		issuerURLKey: placeholderIssuer,
	})
	return component.Object{Resource: secret, Once: true, Generate: &component.Generate{
		Random: map[string]int{cookieSecretKey: keyLength, clientSecretKey: keyLength},
	}}
}

// networkPolicy admits all. The address of the provider, which the proxy asks, is in a Secret of the user.
func (p proxy) networkPolicy() *networkingv1.NetworkPolicy {
	policy := objectparts.NetworkPolicy(p.part, p.name, intstr.FromInt32(proxyPort))
	if p.shop.app.Spec.NetworkPolicy.Egress == v1.EgressRestricted {
		objectparts.RestrictEgress(policy, objectparts.PeerOf(p.shop.part(Frontend)))
		objectparts.AllowPort(policy, providerPort)
	}
	return policy
}

// inputsHash returns the hash of what the pods are rendered from.
func (p proxy) inputsHash() string {
	spec := p.shop.app.Spec
	ingress := spec.Ingress
	ingress.Annotations = nil
	return objectparts.Inputs(p.shop.frontend.spec.PodSettings, spec.ImageRegistry, spec.Security, ingress, p.shop.clusterHost())
}

func (p proxy) deployment() component.Resource {
	c := statelessContainer("oauth2-proxy", p.image, proxyPort)
	c.Args = p.args()
	c.Env = []corev1.EnvVar{
		objectparts.SecretEnv("OAUTH2_PROXY_CLIENT_ID", p.client, clientIDKey),
		objectparts.SecretEnv("OAUTH2_PROXY_CLIENT_SECRET", p.client, clientSecretKey),
		objectparts.SecretEnv("OAUTH2_PROXY_OIDC_ISSUER_URL", p.client, issuerURLKey),
		objectparts.SecretEnv("OAUTH2_PROXY_COOKIE_SECRET", p.name, cookieSecretKey),
	}
	c.Resources = objectparts.Requests(10, 32)
	probeHTTP("/ping", c.StartupProbe, c.ReadinessProbe, c.LivenessProbe)
	pod := statelessPod(c, p.shop.app.Spec.Security.PodUserIDs)
	objectparts.Configure(&pod, p.shop.frontend.spec.PodSettings)
	d := statelessDeployment(p.part, p.name, pod)
	objectparts.Describe(&d.Spec.Template.ObjectMeta, p.shop.frontend.spec.PodSettings)
	d.Spec.Replicas = new(p.replicas())
	return d
}

func (p proxy) args() []string {
	spec := p.shop.app.Spec
	args := []string{
		"--http-address=:" + strconv.Itoa(proxyPort), // All addresses, of IPv4 and IPv6.
		"--upstream=http://" + p.shop.frontend.name,
		"--provider=oidc",
		"--skip-provider-button=true",
		"--cookie-samesite=lax",
		fmt.Sprintf("--cookie-secure=%t", p.isSecure()),
	}
	args = append(args, trust(spec.Security.Authentication.TrustedProxies)...)
	args = append(args, admission(spec.Security.Authentication)...)
	if spec.Ingress.Host != "" && p.shop.clusterHost() == "" { // With two names, the request decides.
		scheme := "http"
		if p.isSecure() {
			scheme = "https"
		}
		args = append(args, "--redirect-url="+scheme+"://"+spec.Ingress.Host+"/oauth2/callback")
	}
	if p.placeholders {
		// Skipping discovery lets the proxy start although the issuer does not answer.
		args = append(args,
			"--skip-oidc-discovery=true",
			"--login-url="+placeholderIssuer+"/authorize",
			"--redeem-url="+placeholderIssuer+"/token",
			"--oidc-jwks-url="+placeholderIssuer+"/keys",
		)
	}
	return args
}

// isSecure reports whether users reach the login by HTTPS. The listener of a Gateway is not read: it may
// change at any time, and with it the template of the pods.
func (p proxy) isSecure() bool {
	if p.shop.hasIngress() {
		return p.shop.app.Spec.Security.TLS.Enabled
	}
	return p.shop.app.Spec.Ingress.GatewayRef.Protocol != v1.GatewayHTTP
}

// trust returns the arguments that say whose X-Forwarded headers the proxy believes. With the flag
// --reverse-proxy alone it believes everybody, and every pod of the cluster can reach it.
func trust(networks []string) []string {
	if len(networks) == 0 {
		return nil
	}
	args := []string{"--reverse-proxy=true"}
	for _, network := range networks {
		args = append(args, "--trusted-proxy-ip="+network)
	}
	return args
}

// admission returns the arguments that say who may log in. The proxy requires that a user has one of
// the domains and, if groups are given, one of these. It admits no user unless the spec does.
func admission(a v1.Authentication) []string {
	domains := a.EmailDomains
	if len(domains) == 0 {
		domains = []string{noDomain}
		if len(a.AllowedGroups) > 0 {
			domains = []string{"*"}
		}
	}
	args := make([]string, 0, len(domains)+len(a.AllowedGroups))
	for _, domain := range domains {
		args = append(args, "--email-domain="+domain)
	}
	for _, group := range a.AllowedGroups {
		args = append(args, "--allowed-group="+group)
	}
	return args
}

// impairment returns what must be set before a user can log in; empty if nothing is missing.
func (p proxy) impairment() string {
	a := p.shop.app.Spec.Security.Authentication
	var missing []string
	if p.placeholders {
		missing = append(missing, "spec.security.authentication.secretRef, because the credentials are placeholders")
	}
	if len(a.EmailDomains) == 0 && len(a.AllowedGroups) == 0 {
		missing = append(missing, "spec.security.authentication.emailDomains or allowedGroups, because no user is admitted")
	}
	if len(missing) == 0 {
		return ""
	}
	return "no user can log in: set " + strings.Join(missing, ", and ")
}
