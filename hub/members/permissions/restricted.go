package permissions

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Restricted reports whether the cluster denies the credentials a claim in kube-system, which it is asked
// for in a dry run: the roles of both modes allow to create claims everywhere, and admission policies are to
// deny it there. It returns nil if the answer is neither, because the check must not fail an inspection.
func Restricted(ctx context.Context, client corev1client.PersistentVolumeClaimsGetter) *bool {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "shopfleet-dry-run-"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	_, err := client.PersistentVolumeClaims(metav1.NamespaceSystem).Create(ctx, claim, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return new(false)
	case apierrors.IsForbidden(err):
		return new(true)
	default:
		return nil
	}
}
