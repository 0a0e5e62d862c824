package database

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ImportPod returns the pod of a Job that starts the engine on the volume of a claim. It is that of the primary, so
// that it is scheduled to the same nodes and reads the files as the same user, without what a cluster lacks that has
// never had the database: its ConfigMap, Secrets and ServiceAccount. Its container has no name and no command. The
// pods of a database have no claim but that of the data.
//
// An error names the field that must change.
func (s Spec) ImportPod(claim string) (corev1.PodSpec, error) {
	e, err := s.engine()
	if err != nil {
		return corev1.PodSpec{}, err
	}
	pod := s.renderer(e).podTemplate().Spec
	server := pod.Containers[0]
	pod.Containers = []corev1.Container{{
		Image: server.Image, Env: e.env, Resources: server.Resources, SecurityContext: server.SecurityContext,
		VolumeMounts: slices.DeleteFunc(server.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == configVolume }),
	}}
	pod.InitContainers, pod.TopologySpreadConstraints, pod.ServiceAccountName = nil, nil, ""
	pod.Volumes = append(
		slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == configVolume }),
		corev1.Volume{Name: DataVolume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}},
	)
	return pod, nil
}
