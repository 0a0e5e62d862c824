package render

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

const (
	proxyVersion = "v7.12.0"
	proxyImage   = "quay.io/oauth2-proxy/oauth2-proxy:" + proxyVersion
	proxyPort    = 4180

	clientIDKey     = "client-id"
	clientSecretKey = "client-secret"
	issuerURLKey    = "issuer-url"
	cookieSecretKey = "cookie-secret"

	// placeholderIssuer is a host name that never resolves.
	placeholderIssuer = "https://login.invalid"
	keyLength         = 32
)

// proxy is the oauth2-proxy in front of the frontend.
type proxy struct {
	shop *shop
	part manifest.Part
	name string
	// client is the name of the Secret with the OAuth client's credentials.
	client string
	// placeholders is true if these are placeholders, so that no user can log in.
	placeholders bool
}

func (s *shop) newProxy() proxy {
	p := proxy{shop: s, part: s.ingressPart(), name: s.owner.ChildName("-oauth2-proxy", manifest.MaxName)}
	p.part.App, p.part.Version = "oauth2-proxy", proxyVersion
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
		{Resource: manifest.NetworkPolicy(p.part, p.name, proxyPort)},
		{Resource: p.deployment()},
		{Resource: manifest.Service(p.part, p.name, corev1.ServicePort{Name: httpPort, Port: servicePort})},
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
	secret := manifest.Secret(p.part, p.name, map[string]string{
		clientIDKey:  "placeholder",
		issuerURLKey: placeholderIssuer,
	})
	return component.Object{Resource: secret, Once: true, Generate: &component.Generate{
		Random: map[string]int{cookieSecretKey: keyLength, clientSecretKey: keyLength},
	}}
}

func (p proxy) deployment() component.Resource {
	c := statelessContainer("oauth2-proxy", proxyImage, proxyPort)
	c.Args = p.args()
	c.Env = []corev1.EnvVar{
		manifest.SecretEnv("OAUTH2_PROXY_CLIENT_ID", p.client, clientIDKey),
		manifest.SecretEnv("OAUTH2_PROXY_CLIENT_SECRET", p.client, clientSecretKey),
		manifest.SecretEnv("OAUTH2_PROXY_OIDC_ISSUER_URL", p.client, issuerURLKey),
		manifest.SecretEnv("OAUTH2_PROXY_COOKIE_SECRET", p.name, cookieSecretKey),
	}
	c.Resources = manifest.Requests(10, 32)
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		probe.ProbeHandler = corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/ping", Port: intstr.FromString(httpPort)},
		}
	}
	d := statelessDeployment(p.part, p.name, statelessPod(c))
	d.Spec.Replicas = new(p.replicas())
	return d
}

func (p proxy) args() []string {
	spec := p.shop.app.Spec
	args := []string{
		"--http-address=0.0.0.0:" + strconv.Itoa(proxyPort),
		"--upstream=http://" + p.shop.frontend.name,
		"--provider=oidc",
		"--email-domain=*",
		"--reverse-proxy=true",
		"--skip-provider-button=true",
		"--cookie-samesite=lax",
		fmt.Sprintf("--cookie-secure=%t", spec.Security.TLS.Enabled),
	}
	if spec.Ingress.Host != "" {
		scheme := "http"
		if spec.Security.TLS.Enabled {
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
