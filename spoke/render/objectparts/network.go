package objectparts

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// NetworkPolicy allows only the given peers to reach the part's pods on a port, which for each pod is its
// own if it has a name. Without peers it allows all.
func NetworkPolicy(p Part, name string, port intstr.IntOrString, peers ...networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   Type("networking.k8s.io/v1", "NetworkPolicy"),
		ObjectMeta: p.Meta(name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: p.Selector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: peers,
				Ports: []networkingv1.NetworkPolicyPort{{
					Protocol: new(corev1.ProtocolTCP),
					Port:     &port,
				}},
			}},
		},
	}
}

// RestrictEgress allows the pods of a policy to connect to DNS servers and to the given peers only, whose
// own policies name the ports.
func RestrictEgress(policy *networkingv1.NetworkPolicy, peers ...networkingv1.NetworkPolicyPeer) {
	// Anywhere, because the resolver may be a Service or a cache on the node. OpenShift's pods have 5353.
	policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{
		port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53), port(corev1.ProtocolUDP, 5353), port(corev1.ProtocolTCP, 5353),
	}}}
	if len(peers) > 0 {
		policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: peers})
	}
}

// AllowPort allows the pods of a policy with restricted egress to connect to a port anywhere.
func AllowPort(policy *networkingv1.NetworkPolicy, number int32) {
	policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, number)},
	})
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}

// PeerOf returns the pods of a part as a peer.
func PeerOf(p Part) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: p.Selector()}}
}

// Clients returns the pods that a user admits as peers.
func Clients(pods []v1.ClientPods) []networkingv1.NetworkPolicyPeer {
	return convert(pods, func(c v1.ClientPods) networkingv1.NetworkPolicyPeer {
		peer := networkingv1.NetworkPolicyPeer{PodSelector: labelSelector(c.PodSelector)}
		if peer.PodSelector == nil { // All namespaces' pods would be peers otherwise.
			peer.PodSelector = &metav1.LabelSelector{}
		}
		if len(c.Namespaces) > 0 {
			peer.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: c.Namespaces,
			}}}
		}
		return peer
	})
}
