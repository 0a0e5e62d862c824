package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// carrySecrets brings the passwords that are in the data to a cluster that has never had
// the database. They are in no backup, and on the hub neither.
func (w *work) carrySecrets(ctx context.Context) verdict.Verdict {
	if w.place.copy != nil || w.member.Name == w.backup.Spec.ClusterName {
		return verdict.Verdict{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for _, name := range render.DatabaseSecrets(w.backup.Spec.AppName) {
		key := client.ObjectKey{Namespace: w.restore.Namespace, Name: name}
		err := w.place.cluster.GetAPIReader().Get(ctx, key, &corev1.Secret{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return w.secretTrouble(err, name)
		}
		if err := w.carry(ctx, key); err != nil {
			return w.secretTrouble(err, name)
		}
	}
	return verdict.Verdict{}
}

// carry copies one Secret from the cluster that was backed up. One that is not there
// either was named by the application, or is made by hand.
func (w *work) carry(ctx context.Context, key client.ObjectKey) error {
	source, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterName))
	if err != nil {
		return err
	}
	theirs := &corev1.Secret{}
	if err := source.GetAPIReader().Get(ctx, key, theirs); err != nil {
		return client.IgnoreNotFound(err)
	}
	ours := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
			Annotations: map[string]string{v1.AdoptAnnotation: "true"},
		},
		Type: theirs.Type, Data: theirs.Data,
	}
	err = w.place.cluster.GetClient().Create(ctx, ours, client.FieldOwner(v1.HubFieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing the Secret %s: %w", key.Name, err)
	}
	return nil
}

// secretTrouble says what to do where the passwords cannot be had.
func (w *work) secretTrouble(err error, name string) verdict.Verdict {
	wait := verdict.Member
	if apierrors.IsForbidden(err) {
		wait = verdict.Refused
	}
	return verdict.Hold(wait, v1.ReasonCredentialsMissing,
		"the claims are there, but the database's passwords are not: Secret %s of %s could not be brought to %s; make it there by hand if %s is lost",
		name, w.backup.Spec.ClusterName, w.member.Name, w.backup.Spec.ClusterName)
}
