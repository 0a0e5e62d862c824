package objectparts

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// ServiceAccount returns a ServiceAccount of the part, without a token.
func ServiceAccount(p Part, name string, annotations map[string]string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{
		TypeMeta:                     Type("v1", "ServiceAccount"),
		ObjectMeta:                   p.Meta(name),
		AutomountServiceAccountToken: new(false),
	}
	account.Annotations = maps.Clone(annotations)
	return account
}

// Configure adds the user's settings to a pod. Of the pod's own affinity, that to nodes is kept:
// nodes must meet both.
func Configure(pod *corev1.PodSpec, s v1.PodSettings) {
	for _, secret := range s.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: secret.Name})
	}
	pod.NodeSelector = maps.Clone(s.NodeSelector)
	pod.Tolerations = convert(s.Tolerations, toleration)
	pod.PriorityClassName = s.PriorityClassName
	if s.Affinity == nil {
		return
	}
	affinity := corev1.Affinity{NodeAffinity: nodeAffinity(s.Affinity.NodeAffinity)}
	if terms := s.Affinity.PodAffinity; terms != nil {
		affinity.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  convert(terms.RequiredDuringSchedulingIgnoredDuringExecution, podTerm),
			PreferredDuringSchedulingIgnoredDuringExecution: convert(terms.PreferredDuringSchedulingIgnoredDuringExecution, preferredPods),
		}
	}
	if terms := s.Affinity.PodAntiAffinity; terms != nil {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  convert(terms.RequiredDuringSchedulingIgnoredDuringExecution, podTerm),
			PreferredDuringSchedulingIgnoredDuringExecution: convert(terms.PreferredDuringSchedulingIgnoredDuringExecution, preferredPods),
		}
	}
	if pod.Affinity != nil {
		affinity.NodeAffinity = bothNodes(pod.Affinity.NodeAffinity, affinity.NodeAffinity)
	}
	if affinity != (corev1.Affinity{}) {
		pod.Affinity = &affinity
	}
}

// Describe adds the user's labels and annotations to a pod. The labels that selectors and
// controllers depend on are reserved, and precede them.
func Describe(pod *metav1.ObjectMeta, s v1.PodSettings) {
	for key, value := range s.PodLabels {
		if _, ours := pod.Labels[key]; !ours {
			metav1.SetMetaDataLabel(pod, key, value)
		}
	}
	for key, value := range s.PodAnnotations {
		metav1.SetMetaDataAnnotation(pod, key, value)
	}
}

// bothNodes returns the affinity to nodes that meet both a and b. Terms are alternatives, so each
// of a is combined with each of b.
func bothNodes(a, b *corev1.NodeAffinity) *corev1.NodeAffinity {
	if a == nil || b == nil {
		return firstSet(a, b)
	}
	both := &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: firstSet(a.RequiredDuringSchedulingIgnoredDuringExecution, b.RequiredDuringSchedulingIgnoredDuringExecution),
		PreferredDuringSchedulingIgnoredDuringExecution: slices.Concat(
			a.PreferredDuringSchedulingIgnoredDuringExecution, b.PreferredDuringSchedulingIgnoredDuringExecution),
	}
	first, second := a.RequiredDuringSchedulingIgnoredDuringExecution, b.RequiredDuringSchedulingIgnoredDuringExecution
	if first == nil || second == nil {
		return both
	}
	both.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	for _, one := range first.NodeSelectorTerms {
		for _, other := range second.NodeSelectorTerms {
			if empty(one) || empty(other) {
				continue // It matches no node.
			}
			both.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = append(
				both.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, corev1.NodeSelectorTerm{
					MatchExpressions: slices.Concat(one.MatchExpressions, other.MatchExpressions),
					MatchFields:      slices.Concat(one.MatchFields, other.MatchFields),
				})
		}
	}
	if len(both.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) == 0 {
		both.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	return both
}

func empty(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
}

func firstSet[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// convert returns nil for an empty list, which an intent must not have.
func convert[From, To any](list []From, one func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	all := make([]To, 0, len(list))
	for _, item := range list {
		all = append(all, one(item))
	}
	return all
}

func nodeAffinity(a *v1.NodeAffinity) *corev1.NodeAffinity {
	if a == nil {
		return nil
	}
	affinity := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: convert(
		a.PreferredDuringSchedulingIgnoredDuringExecution, func(p v1.PreferredNodes) corev1.PreferredSchedulingTerm {
			return corev1.PreferredSchedulingTerm{Weight: p.Weight, Preference: nodeTerm(p.Preference)}
		})}
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: convert(required.NodeSelectorTerms, nodeTerm),
		}
	}
	return affinity
}

func nodeTerm(t v1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	requirement := func(r v1.LabelRequirement) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: slices.Clone(r.Values)}
	}
	return corev1.NodeSelectorTerm{
		MatchExpressions: convert(t.MatchExpressions, requirement),
		MatchFields:      convert(t.MatchFields, requirement),
	}
}

func preferredPods(p v1.PreferredPods) corev1.WeightedPodAffinityTerm {
	return corev1.WeightedPodAffinityTerm{Weight: p.Weight, PodAffinityTerm: podTerm(p.PodAffinityTerm)}
}

func podTerm(t v1.PodAffinityTerm) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: t.TopologyKey, Namespaces: slices.Clone(t.Namespaces)}
	term.LabelSelector = labelSelector(t.LabelSelector)
	return term
}

func labelSelector(s *v1.PodSelector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	return &metav1.LabelSelector{
		MatchLabels: maps.Clone(s.MatchLabels),
		MatchExpressions: convert(s.MatchExpressions, func(r v1.LabelRequirement) metav1.LabelSelectorRequirement {
			return metav1.LabelSelectorRequirement{Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator), Values: slices.Clone(r.Values)}
		}),
	}
}
