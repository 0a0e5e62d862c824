package restore

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/passwords"
)

// carrySecrets brings the passwords that are in the data to a cluster that has never had
// the database.
func (w *work) carrySecrets(ctx context.Context) verdict.Verdict {
	if w.place.copy != nil || w.member.Name == w.backup.Spec.ClusterName {
		return verdict.Verdict{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	missing, err := passwords.Missing(ctx, w.place.cluster, w.appKey())
	if err != nil {
		return w.memberTrouble(err)
	}
	if missing == "" {
		return verdict.Verdict{}
	}
	source, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterName))
	if err == nil {
		err = passwords.Carry(ctx, source, w.place.cluster, w.appKey())
	}
	if err == nil {
		return verdict.Verdict{}
	}
	wait := verdict.Member
	if apierrors.IsForbidden(err) {
		wait = verdict.Refused
	}
	return verdict.Hold(wait, v1.ReasonCredentialsMissing,
		"the claims are there, but the database's passwords are not: Secret %s of %s could not be brought to %s; make it there by hand if %s is lost",
		missing, w.backup.Spec.ClusterName, w.member.Name, w.backup.Spec.ClusterName)
}

// samePasswords tells whether two clusters that both run the application ask its database
// with the same passwords, which the data is going to have.
func (w *work) samePasswords(ctx context.Context) verdict.Verdict {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	differs := ""
	source, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterName))
	if err == nil {
		differs, err = passwords.Differ(ctx, source, w.place.cluster, w.appKey())
	}
	switch {
	case err != nil:
		return verdict.Hold(verdict.Member, v1.ReasonCredentialsMissing,
			"whether the data of %s has the passwords that the database in %s is asked with, is not known while their Secrets cannot be read",
			w.backup.Spec.ClusterName, w.member.Name)
	case differs != "":
		return verdict.Fail(v1.ReasonCredentialsMissing, "the data of %s has other passwords than the database in %s is asked with: "+
			"give both one Secret by spec.database.credentialsSecretRef, or make Secret %s the same", w.backup.Spec.ClusterName, w.member.Name, differs)
	default:
		return verdict.Verdict{}
	}
}

func (w *work) appKey() client.ObjectKey {
	return client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppName}
}
