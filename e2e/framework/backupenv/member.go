package backupenv

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// RunMember does once what the controllers and kubelets of the member would do: it binds
// claims, lets go of those that are deleted, and runs the database's pod while no Restore
// has stopped it.
func (e *Env) RunMember(t *testing.T) {
	t.Helper()
	if err := errors.Join(e.runClaims(t), e.runDatabase(t)); err != nil {
		t.Fatal(err)
	}
}

func (e *Env) runClaims(t *testing.T) error {
	t.Helper()
	claims := &corev1.PersistentVolumeClaimList{}
	if err := e.List(t.Context(), claims, client.InNamespace(Namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		var err error
		switch {
		case !c.DeletionTimestamp.IsZero():
			c.Finalizers = nil
			err = e.Update(t.Context(), c)
		case c.Status.Phase != corev1.ClaimBound && c.Spec.VolumeName != "":
			c.Status.Phase = corev1.ClaimBound
			err = e.Status().Update(t.Context(), c)
		}
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // kube-controller-manager was faster.
			return err
		}
	}
	return nil
}

func (e *Env) runDatabase(t *testing.T) error {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: Shop}, app); err != nil {
		return client.IgnoreNotFound(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: render.DatabasePod(Shop)}}
	if app.Annotations[v1.RestoringAnnotation] != "" {
		return client.IgnoreNotFound(e.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	}
	pod.Spec = corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		Containers:                   []corev1.Container{{Name: database.Container, Image: "database"}},
	}
	if err := e.Create(t.Context(), pod); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return e.Status().Update(t.Context(), pod)
}
