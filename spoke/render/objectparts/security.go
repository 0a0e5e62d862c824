package objectparts

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// PodSecurity returns the security context of a pod that runs as the user and group with
// this ID, or those that the cluster gives it.
func PodSecurity(id int64, from v1.PodUserIDs) *corev1.PodSecurityContext {
	context := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true),
		// Changing the ownership of large volumes at every start would be slow.
		FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if from != v1.PodUserIDsNamespace {
		context.RunAsUser, context.RunAsGroup, context.FSGroup = new(id), new(id), new(id)
	}
	return context
}

// ContainerSecurity returns the security context of a container without privileges and
// with a read-only root file system.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		RunAsNonRoot:             new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// Requests returns resource requests, without limits.
func Requests(milliCPU, mebibytes int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}}
}

// Scratch returns an emptyDir volume, and its mount.
func Scratch(name, path string) (corev1.Volume, corev1.VolumeMount) {
	return corev1.Volume{
		Name:         name,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	}, corev1.VolumeMount{Name: name, MountPath: path}
}

// SecretEnv returns an environment variable from a key of a Secret.
func SecretEnv(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret},
			Key:                  key,
		},
	}}
}

// FieldEnv returns an environment variable from a field of the pod.
func FieldEnv(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field},
	}}
}
