package objectparts

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Type returns the TypeMeta of a kind, for example Type("apps/v1", "Deployment").
func Type(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// ConfigMap returns a ConfigMap of the part.
func ConfigMap(p Part, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: Type("v1", "ConfigMap"), ObjectMeta: p.Meta(name), Data: data}
}

// VersionedConfigMap returns a ConfigMap that is replaced by another one when its settings change: its name
// consists of the name of the owner, the suffix and a hash of the settings. Other data is updated in place and
// starts no pod, so the API server must not treat the ConfigMap as immutable.
func VersionedConfigMap(p Part, suffix string, settings, others map[string]string) *corev1.ConfigMap {
	data := maps.Clone(others)
	if data == nil {
		data = make(map[string]string, len(settings))
	}
	maps.Copy(data, settings)
	return ConfigMap(p, p.Owner.ChildName(suffix+"-"+DataHash(settings)[:hashLength], MaxName), data)
}

// Secret returns an opaque Secret of the part. Data must not be confidential: passwords
// are generated when the Secret is written.
func Secret(p Part, name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{TypeMeta: Type("v1", "Secret"), ObjectMeta: p.Meta(name), Type: corev1.SecretTypeOpaque}
	for key, value := range data {
		if s.Data == nil {
			s.Data = make(map[string][]byte, len(data))
		}
		s.Data[key] = []byte(value)
	}
	return s
}

// Service returns a Service that forwards the port to the container port of the same name
// in the part's pods. It sets what others could redirect it with, although the values are the defaults.
func Service(p Part, name string, port corev1.ServicePort) *corev1.Service {
	port.Protocol = corev1.ProtocolTCP
	if port.TargetPort == (intstr.IntOrString{}) {
		port.TargetPort = intstr.FromString(port.Name)
	}
	return &corev1.Service{
		TypeMeta:   Type("v1", "Service"),
		ObjectMeta: p.Meta(name),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster),
			Selector: p.Selector(), Ports: []corev1.ServicePort{port},
		},
	}
}

// DisruptionBudget allows the eviction of at most the given number or share of the part's
// pods at a time, and of unhealthy pods at any time: one that never becomes ready would
// otherwise block the drain of its node.
func DisruptionBudget(p Part, name string, maxUnavailable intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   Type("policy/v1", "PodDisruptionBudget"),
		ObjectMeta: p.Meta(name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             &maxUnavailable,
			Selector:                   &metav1.LabelSelector{MatchLabels: p.Selector()},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}
