package database

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	portName       = "database"
	podNameLabel   = "statefulset.kubernetes.io/pod-name"
	passwordLength = 32

	replicationKey = "replication-password"
	rootKey        = "root-password"
)

// systemVariables maps the keys of the system Secret to environment variables.
func systemVariables() map[string]string {
	return map[string]string{
		replicationKey: "REPLICATION_PASSWORD",
		rootKey:        "ROOT_PASSWORD",
	}
}

func (r renderer) systemSecretName() string {
	return r.name("-system", objectparts.MaxName)
}

// Secrets returns the names of the Secrets without which the data cannot be used: the Secret of
// the administrators, and the Secret of the application if it is generated.
func (s Spec) Secrets() []string {
	system := renderer{Spec: s}.systemSecretName()
	if s.CredentialsSecret != "" {
		return []string{system}
	}
	return []string{s.Credentials(), system}
}

// credentials returns the application's credentials, unless the user provides them, and
// those that only the database itself uses.
func (r renderer) credentials() []component.Object {
	random := make(map[string]int, len(r.engine.systemKeys))
	for _, key := range r.engine.systemKeys {
		random[key] = passwordLength
	}
	system := component.Object{
		Resource: objectparts.Secret(r.part, r.systemSecretName(), nil),
		Once:     true,
		Retain:   true,
		Generate: &component.Generate{Random: random},
	}
	if r.CredentialsSecret != "" {
		return []component.Object{system}
	}
	return []component.Object{r.generatedCredentials(), system}
}

func (r renderer) generatedCredentials() component.Object {
	return component.Object{
		Resource: objectparts.Secret(r.part, r.Credentials(), map[string]string{
			UsernameKey: r.Username,
			DatabaseKey: r.DatabaseName,
		}),
		Once:     true,
		Retain:   true,
		Generate: &component.Generate{Random: map[string]int{PasswordKey: passwordLength}},
	}
}

// config returns the ConfigMap of the configuration and of what is read at the start of a server. Its name has a
// hash of the configuration: another one restarts the pods, and a pod that is not replaced yet keeps its own.
// The rest is updated in place: other scripts and a larger volume restart nothing.
func (r renderer) config() *corev1.ConfigMap {
	return objectparts.VersionedConfigMap(r.part, r.Suffix+"-config", r.engine.config, r.engine.atStart)
}

// headlessService returns the Service that gives each pod a host name.
func (r renderer) headlessService() *corev1.Service {
	s := objectparts.Service(r.part, r.name("", objectparts.MaxName), corev1.ServicePort{Name: portName, Port: r.Port()})
	s.Spec.ClusterIP = corev1.ClusterIPNone
	return s
}

// primaryService returns the Service of pod 0, the primary.
func (r renderer) primaryService() *corev1.Service {
	s := objectparts.Service(r.part, r.Host(), corev1.ServicePort{Name: portName, Port: r.Port()})
	s.Spec.Selector[podNameLabel] = r.StatefulSetName() + "-0"
	return s
}

func (r renderer) disruptionBudget() *policyv1.PodDisruptionBudget {
	return objectparts.DisruptionBudget(r.part, r.name("", objectparts.MaxName), intstr.FromInt32(1))
}

// networkPolicy admits the clients, backups and the database's own pods, which may connect to the primary.
func (r renderer) networkPolicy() *networkingv1.NetworkPolicy {
	var peers []networkingv1.NetworkPolicyPeer
	if r.ClientComponent != "" {
		peers = append(peers, objectparts.PeerOf(objectparts.Part{Owner: r.Owner, Component: r.ClientComponent}))
	}
	peers = append(peers, objectparts.PeerOf(r.backupPart()), objectparts.PeerOf(r.part))
	policy := objectparts.NetworkPolicy(r.part, r.name("", objectparts.MaxName), intstr.FromInt32(r.Port()), append(peers, objectparts.Clients(r.Clients)...)...)
	if r.Egress == v1.EgressRestricted {
		objectparts.RestrictEgress(policy, objectparts.PeerOf(r.part))
	}
	return policy
}
