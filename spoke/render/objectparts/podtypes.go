package objectparts

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// EnvVars returns environment variables as a container has them.
func EnvVars(list []v1.EnvVar) []corev1.EnvVar { return convert(list, EnvVar) }

// EnvVar returns an environment variable as a container has it.
func EnvVar(e v1.EnvVar) corev1.EnvVar {
	variable := corev1.EnvVar{Name: e.Name, Value: e.Value}
	if from := e.ValueFrom; from != nil {
		variable.ValueFrom = &corev1.EnvVarSource{}
		if ref := from.FieldRef; ref != nil {
			variable.ValueFrom.FieldRef = &corev1.ObjectFieldSelector{APIVersion: ref.APIVersion, FieldPath: ref.FieldPath}
		}
		if ref := from.ResourceFieldRef; ref != nil {
			variable.ValueFrom.ResourceFieldRef = &corev1.ResourceFieldSelector{
				ContainerName: ref.ContainerName, Resource: ref.Resource, Divisor: ref.Divisor.DeepCopy(),
			}
		}
		if ref := from.ConfigMapKeyRef; ref != nil {
			variable.ValueFrom.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Key: ref.Key, Optional: ref.Optional,
			}
		}
		if ref := from.SecretKeyRef; ref != nil {
			variable.ValueFrom.SecretKeyRef = &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Key: ref.Key, Optional: ref.Optional,
			}
		}
	}
	return variable
}

// EnvFrom returns sources of environment variables as a container has them.
func EnvFrom(list []v1.EnvFromSource) []corev1.EnvFromSource {
	return convert(list, func(s v1.EnvFromSource) corev1.EnvFromSource {
		source := corev1.EnvFromSource{Prefix: s.Prefix}
		if ref := s.ConfigMapRef; ref != nil {
			source.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Optional: ref.Optional}
		}
		if ref := s.SecretRef; ref != nil {
			source.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Optional: ref.Optional}
		}
		return source
	})
}

// Resources returns requests and limits as a container has them.
func Resources(r v1.Resources) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: amounts(r.Requests), Limits: amounts(r.Limits)}
}

func amounts(given v1.Amounts) corev1.ResourceList {
	if given == nil {
		return nil
	}
	list := make(corev1.ResourceList, len(given))
	for name, quantity := range given {
		list[corev1.ResourceName(name)] = quantity.DeepCopy()
	}
	return list
}

func toleration(t v1.Toleration) corev1.Toleration {
	return corev1.Toleration{
		Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
		Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
	}
}
