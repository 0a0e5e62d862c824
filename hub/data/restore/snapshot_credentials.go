package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// copySecrets copies the passwords that are in the data to a cluster that has never had
// the database.
func (w *work) copySecrets(ctx context.Context) steps.Result {
	if w.targetFacts.copy != nil || w.member.Name == w.backup.Spec.ClusterRef.Name {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	missing, err := missingSecret(ctx, w.targetFacts.cluster, w.appKey())
	if err != nil {
		return w.memberError(err)
	}
	if missing == "" {
		return steps.Result{}
	}
	source, err := w.source(ctx)
	if err == nil {
		err = copyDatabaseSecrets(ctx, source, w.targetFacts.cluster, w.appKey())
	}
	if err == nil {
		return steps.Result{}
	}
	from := w.backup.Spec.ClusterRef.Name
	return steps.RetryAfter(steps.FromMember(err, from, "read Secrets").Wait, v1.ReasonCredentialsMissing,
		"the claims are there, but the database's passwords are not: Secret %s of %s could not be copied to %s; create it there by hand if %s is lost",
		missing, from, w.member.Name, from)
}

// sameCredentials reports whether the database of the target can use the data of another cluster that
// runs the application as well. The pod of PostgreSQL sets all passwords in the data when it starts.
func (w *work) sameCredentials(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	from, different := w.backup.Spec.ClusterRef.Name, ""
	what := "the same passwords"
	if w.targetFacts.copy.Spec.Database.Engine != v1.EngineMySQL {
		what = "the same " + database.UsernameKey + " and " + database.DatabaseKey
	}
	source, err := w.source(ctx)
	if err == nil {
		different, err = w.differentSecret(ctx, source)
	}
	switch {
	case err != nil:
		return steps.RetryAfter(steps.FromMember(err, from, "read Secrets").Wait, v1.ReasonCredentialsMissing,
			"the credentials of %s cannot be compared with those of the database in %s until the hub can read both Secrets", from, w.member.Name)
	case different != "":
		return steps.Fail(v1.ReasonCredentialsMissing, "the data of %s does not have %s as the database in %s: "+
			"give both one Secret by spec.database.credentialsSecretRef, or make Secret %s the same", from, what, w.member.Name, different)
	default:
		return steps.Result{}
	}
}

// source returns the member that was backed up.
func (w *work) source(ctx context.Context) (cluster.Cluster, error) {
	return w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
}

func (w *work) appKey() client.ObjectKey {
	return client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppRef.Name}
}

// missingSecret returns the first Secret of an application's database that a member does not
// have; empty if it has all.
func missingSecret(ctx context.Context, member cluster.Cluster, app client.ObjectKey) (string, error) {
	for _, name := range render.DatabaseSecrets(app.Name) {
		secret, err := getSecret(ctx, member, client.ObjectKey{Namespace: app.Namespace, Name: name})
		if err != nil || secret == nil {
			return name, err
		}
	}
	return "", nil
}

// copyDatabaseSecrets copies the Secrets of an application's database that a member lacks. One that
// the other lacks as well is skipped.
func copyDatabaseSecrets(ctx context.Context, from, to cluster.Cluster, app client.ObjectKey) error {
	for _, name := range render.DatabaseSecrets(app.Name) {
		key := client.ObjectKey{Namespace: app.Namespace, Name: name}
		theirs, err := getSecret(ctx, from, key)
		if err != nil {
			return err
		}
		if theirs == nil {
			continue
		}
		ours := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
				Annotations: map[string]string{v1.AdoptAnnotation: string(v1.AdoptAlways)},
			},
			Type: theirs.Type, Data: theirs.Data,
		}
		err = to.GetClient().Create(ctx, ours, client.FieldOwner(v1.HubFieldManager))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("writing the Secret %s: %w", key.Name, err)
		}
	}
	return nil
}

// differentSecret returns the first Secret of the application's database that both members have, and
// in which what the data needs is not the same; empty if there is none.
func (w *work) differentSecret(ctx context.Context, source cluster.Cluster) (string, error) {
	app, engine := w.appKey(), w.targetFacts.copy.Spec.Database.Engine
	for _, name := range render.DatabaseSecrets(app.Name) {
		key := client.ObjectKey{Namespace: app.Namespace, Name: name}
		a, err := getSecret(ctx, source, key)
		if err != nil {
			return "", err
		}
		b, err := getSecret(ctx, w.targetFacts.cluster, key)
		if err != nil {
			return "", err
		}
		if a != nil && b != nil && !equality.Semantic.DeepEqual(neededKeys(engine, a.Data), neededKeys(engine, b.Data)) {
			return name, nil
		}
	}
	return "", nil
}

// neededKeys returns what of a Secret has to be as it was when the data was backed up.
func neededKeys(engine v1.Engine, data map[string][]byte) map[string][]byte {
	if engine == v1.EngineMySQL {
		return data
	}
	return map[string][]byte{database.UsernameKey: data[database.UsernameKey], database.DatabaseKey: data[database.DatabaseKey]}
}

// getSecret reads a Secret from the member's API server, nil if there is none.
func getSecret(ctx context.Context, member cluster.Cluster, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := member.GetAPIReader().Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting the Secret %s: %w", key.Name, err)
	}
	return secret, nil
}
