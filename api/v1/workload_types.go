package v1

import "k8s.io/apimachinery/pkg/api/resource"

// Workload defines the backend or the frontend of an application.
//
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.replicas)",fieldPath=".replicas",reason="FieldValueForbidden",message="replicas must be absent when autoscaling is set"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.strategy) || self.strategy != 'BlueGreen'",fieldPath=".strategy",reason="FieldValueForbidden",message="strategy must not be BlueGreen when autoscaling is set: pods that get no requests yet are not scaled to their load"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.resources) || !has(self.resources.requests) || !('cpu' in self.resources.requests) || quantity(string(self.resources.requests['cpu'])).compareTo(quantity('0')) > 0",fieldPath=".resources.requests",reason="FieldValueInvalid",message="resources.requests.cpu must not be 0 when autoscaling is set: the target is a part of it"
type Workload struct {
	// replicas is the number of pods in each cluster. 0 to 1000; the default is 1 for the
	// backend and spec.replicas for the frontend. It excludes autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the container image. The default of the frontend is spec.image. 1 to 512
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`

	// resources are the requests and limits of each pod.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	// port is the port that the container listens on. 1 to 65535; the default is 8080.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// probes define how the container is probed. Absent: its port must be open.
	// +optional
	Probes Probes `json:"probes,omitempty,omitzero"`

	PodSettings `json:",inline"`

	// env are environment variables of the container. At most 100, with names of
	// 1 to 253 and values of at most 32768 characters.
	// +optional
	Env EnvVars `json:"env,omitempty"`

	// envFrom are ConfigMaps and Secrets whose keys become environment
	// variables. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	EnvFrom []EnvFromSource `json:"envFrom,omitempty"`

	// autoscaling creates a HorizontalPodAutoscaler. It excludes replicas, and the strategy BlueGreen.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// strategy is how new pods replace those of an earlier version in a cluster. The default is
	// RollingUpdate.
	// +optional
	Strategy WorkloadStrategy `json:"strategy,omitempty"`
}

// WorkloadStrategy represents how new pods replace those of an earlier version in a cluster.
//
// +kubebuilder:validation:Enum=RollingUpdate;BlueGreen
type WorkloadStrategy string

// The strategies.
const (
	// StrategyRollingUpdate replaces a quarter of the pods at a time. Both versions serve meanwhile.
	StrategyRollingUpdate WorkloadStrategy = "RollingUpdate"
	// StrategyBlueGreen starts all new pods beside the old ones, switches the Service to the new ones when all of them
	// are ready, and then deletes the old ones. It needs capacity for twice the number of pods.
	StrategyBlueGreen WorkloadStrategy = "BlueGreen"
)

// Resources are the requests and limits of a container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",fieldPath=".requests",message="requests must not exceed limits"
type Resources struct {
	// requests are the resources that are reserved for the container. At most 6.
	// +optional
	Requests Amounts `json:"requests,omitempty"`

	// limits are the maximum resources of the container. At most 6.
	// +optional
	Limits Amounts `json:"limits,omitempty"`
}

// ResourceName is the name of a resource of nodes, such as cpu.
type ResourceName string

// Names of resources.
const (
	ResourceCPU    ResourceName = "cpu"
	ResourceMemory ResourceName = "memory"
	ResourcePods   ResourceName = "pods"
)

// ResourceList are quantities by name of the resource.
type ResourceList map[ResourceName]resource.Quantity

// Amounts are quantities by name of the resource, for example cpu: 500m.
//
// +kubebuilder:validation:MaxProperties=6
// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 253 && (k in ['cpu', 'memory', 'ephemeral-storage'] || k.startsWith('hugepages-') || k.contains('/')))",message="resources must be cpu, memory, ephemeral-storage, hugepages-<size> or have a domain, for example nvidia.com/gpu"
// +kubebuilder:validation:XValidation:rule="self.all(k, !string(self[k]).startsWith('-'))",message="resources must not be negative"
type Amounts map[ResourceName]resource.Quantity

// Autoscaling defines a HorizontalPodAutoscaler.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas must not exceed maxReplicas"
type Autoscaling struct {
	// minReplicas is the minimum number of pods. 1 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinReplicas int32 `json:"minReplicas"`

	// maxReplicas is the maximum number of pods. 1 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas"`

	// targetCPUUtilizationPercent is the target for the average CPU utilization, in percent
	// of the requested CPU. 1 to 100; the default is 80. Without a request of the pods, by
	// resources or by a LimitRange of the namespace, nothing is scaled, and Degraded is True
	// with the reason AutoscalerInactive.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TargetCPUUtilizationPercent *int32 `json:"targetCPUUtilizationPercent,omitempty"`
}

// Ingress defines the access to an application from outside the cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalDNS) || has(self.host)",fieldPath=".host",reason="FieldValueRequired",message="host must be set when externalDNS is: the names of the clusters end with it"
// +kubebuilder:validation:XValidation:rule="!has(self.externalDNS) || !has(self.host) || self.host.size() <= 189",fieldPath=".host",message="host must have at most 189 characters when externalDNS is set: the names of the clusters end with it"
type Ingress struct {
	// host is the DNS name of the application, for example shop.example.com. Absent: any
	// name. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="host must be a DNS name in lower case, for example shop.example.com, without scheme, port or path"
	Host string `json:"host,omitempty"`

	// className is the name of the IngressClass. Absent: the cluster's default. With gatewayRef it
	// is that of the Ingress in clusters that do not serve HTTPRoutes; absent: they have no
	// Ingress. 1 to 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClassName *string `json:"className,omitempty"`

	// gatewayRef refers to the Gateway of an HTTPRoute, which replaces the Ingress in clusters that
	// serve HTTPRoutes of the Gateway API. Its listener terminates TLS. Absent: an Ingress.
	// +optional
	GatewayRef *GatewayReference `json:"gatewayRef,omitempty"`

	// externalDNS gives the application a second DNS name in each cluster, <cluster>.<host>, which
	// external-dns creates a record of, and keeps the records of several clusters apart. Absent: the
	// application has host alone. It requires host, of at most 189 characters, and has no effect
	// without a hub.
	// +optional
	ExternalDNS *ExternalDNS `json:"externalDNS,omitempty"`

	// annotations are added to the Ingress or the HTTPRoute. At most 50, with keys of at most 317
	// and values of at most 4096 characters. Keys of ecommerce.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="annotations must have keys of at most 317 and values of at most 4096 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/'))",message="annotations must not begin with ecommerce.io/: the prefix is reserved"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// SharedHost decides about the DNS records of a host that several clusters have in common.
//
// +kubebuilder:validation:Enum=None;Route53
type SharedHost string

// Records of a host that several clusters have in common.
const (
	SharedHostNone    SharedHost = "None"
	SharedHostRoute53 SharedHost = "Route53"
)

// ExternalDNS defines the DNS records that the external-dns of each cluster creates.
type ExternalDNS struct {
	// sharedHost is None or Route53. None: external-dns creates no record of ingress.host, which is
	// left to a global load balancer or to records of your own. Route53: it creates one for each
	// cluster, told apart by the name of the cluster as set identifier, with the weight 100 unless
	// ingress.annotations have a routing policy of external-dns. The default is None.
	// +optional
	SharedHost SharedHost `json:"sharedHost,omitempty"`
}

// GatewayReference refers to a Gateway in each cluster.
type GatewayReference struct {
	// name is the name of the Gateway. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// namespace is the namespace of the Gateway, whose listener must allow routes from that of the
	// application. Absent: the namespace of the application. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the name of a listener of the Gateway. Absent: each listener that allows the
	// route, also one for HTTP without TLS. 1 to 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SectionName string `json:"sectionName,omitempty"`

	// protocol is HTTPS if the listener terminates TLS, else HTTP. It is the scheme of the login's URL, and
	// with HTTPS its cookies are secure. The default is HTTPS.
	// +optional
	Protocol GatewayProtocol `json:"protocol,omitempty"`
}

// GatewayProtocol represents the protocol of a listener, as Gateways name it.
//
// +kubebuilder:validation:Enum=HTTP;HTTPS
type GatewayProtocol string

// Protocols of listeners.
const (
	GatewayHTTP  GatewayProtocol = "HTTP"
	GatewayHTTPS GatewayProtocol = "HTTPS"
)

// Monitoring defines metrics, alerts and dashboards of an application.
type Monitoring struct {
	// enabled turns the monitoring component on. The default is false: prometheus and
	// grafana have no effect.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// prometheus creates a ServiceMonitor and alert rules where the cluster has the
	// Prometheus operator, else the annotations prometheus.io/scrape, port and path on the
	// Services. The default is false. It has no effect unless enabled is true.
	// +optional
	Prometheus bool `json:"prometheus,omitempty"`

	// grafana creates a ConfigMap with a dashboard for Grafana's sidecar. The default is
	// false. It has no effect unless enabled is true.
	// +optional
	Grafana bool `json:"grafana,omitempty"`

	// labels are added to the ServiceMonitor and the PrometheusRule, which a Prometheus may
	// select by label. At most 50, with keys of at most 317 and values of at most 63
	// characters. Keys of ecommerce.io and app.kubernetes.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="labels must have keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/') && !k.startsWith('app.kubernetes.io/'))",message="labels must not begin with ecommerce.io/ or app.kubernetes.io/: the prefixes are reserved"
	Labels map[string]string `json:"labels,omitempty"`
}

// Security defines TLS and authentication of an application.
type Security struct {
	// tls defines the encryption of the ingress.
	// +optional
	TLS TLS `json:"tls,omitempty,omitzero"`

	// authentication defines the login in front of the application.
	// +optional
	Authentication Authentication `json:"authentication,omitempty,omitzero"`

	// podUserIDs is Fixed if the pods run as users that Shopfleet gives: 999 for the database and its
	// dumps, 65532 for the others. With Namespace they have none, and the cluster must give them one that
	// is not root, as OpenShift does by namespace. It cannot be changed while there is a database, whose
	// files belong to its user. The default is Fixed.
	// +optional
	PodUserIDs PodUserIDs `json:"podUserIDs,omitempty"`
}

// TLS defines the encryption of the ingress.
//
// +kubebuilder:validation:XValidation:rule="!has(self.issuerRef) || !has(self.secretRef)",fieldPath=".secretRef",reason="FieldValueForbidden",message="only one of issuerRef and secretRef may be set"
type TLS struct {
	// enabled turns TLS on. The default is false: issuerRef and secretRef have no effect.
	// Without either of them each cluster creates a self-signed pair.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// issuerRef refers to the cert-manager issuer of the certificate. It requires
	// ingress.host and excludes secretRef.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`

	// secretRef refers to an existing Secret of type kubernetes.io/tls in the same namespace.
	// Excludes issuerRef.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}

// IssuerReference refers to a cert-manager issuer.
type IssuerReference struct {
	// name is the name of the issuer. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// kind is Issuer or ClusterIssuer. The default is ClusterIssuer.
	// +optional
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	Kind string `json:"kind,omitempty"`
}

// Authentication defines the login in front of an application. A user must satisfy both
// emailDomains and allowedGroups, as far as they are set. With neither, no user can log in.
type Authentication struct {
	// enabled requires a login. The default is false: provider and secretRef have no
	// effect.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// provider is the type of login. The only type, and the default, is oauth2.
	// +optional
	// +kubebuilder:validation:Enum=oauth2
	Provider string `json:"provider,omitempty"`

	// secretRef refers to a Secret with the keys client-id, client-secret and issuer-url of
	// the OpenID Connect provider. Absent: placeholders are generated, and no user can log
	// in.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`

	// emailDomains lists the domains of the email addresses of users who may log in, for
	// example example.com, or .example.com for its subdomains. The only entry "*" admits every
	// user of the provider. Absent: any domain if allowedGroups is set, else no user may log
	// in. At most 50, of 1 to 253 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([*]|[.]?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$`
	// +kubebuilder:validation:XValidation:rule="self.size() <= 1 || !('*' in self)",message="emailDomains must have * as the only entry, or domains"
	EmailDomains []string `json:"emailDomains,omitempty"`

	// allowedGroups lists the groups, as in the claim groups of the provider's token, of which a
	// user must be in at least one to log in. Absent: groups do not matter. At most 50, of 1 to
	// 256 printable characters without commas and quotation marks.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-+.-~-]([ !#-+.-~-]*[!#-+.-~-])?$`
	AllowedGroups []string `json:"allowedGroups,omitempty"`

	// trustedProxies lists the networks of the proxies in front of the login, such as the pods of
	// the ingress controller, in CIDR notation without host bits: 10.244.0.0/16. The login believes
	// X-Forwarded headers of requests from these networks alone. Absent: of none. List every hop
	// and nothing that others can send from. At most 20, no network of all addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c) == cidr(c).masked() && cidr(c).prefixLength() > 0)",message="trustedProxies must be networks in CIDR notation without host bits, such as 10.244.0.0/16, and not all addresses"
	TrustedProxies []string `json:"trustedProxies,omitempty"`

	// image is the image of the login proxy, oauth2-proxy. Absent: the official image of the
	// version that Shopfleet was tested with. 1 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`
}
