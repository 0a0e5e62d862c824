package credentials

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// Missing returns the first Secret of an application's database that a member does not
// have; empty if it has all.
func Missing(ctx context.Context, in cluster.Cluster, app client.ObjectKey) (string, error) {
	for _, name := range render.DatabaseSecrets(app.Name) {
		secret, err := get(ctx, in, client.ObjectKey{Namespace: app.Namespace, Name: name})
		if err != nil || secret == nil {
			return name, err
		}
	}
	return "", nil
}

// Carry copies the Secrets of an application's database that a member lacks. One that
// the other lacks as well is none of ours.
func Carry(ctx context.Context, from, to cluster.Cluster, app client.ObjectKey) error {
	for _, name := range render.DatabaseSecrets(app.Name) {
		key := client.ObjectKey{Namespace: app.Namespace, Name: name}
		theirs, err := get(ctx, from, key)
		if err != nil {
			return err
		}
		if theirs == nil {
			continue
		}
		ours := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
				Annotations: map[string]string{v1.AdoptAnnotation: "true"},
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

// Differ returns the first Secret of an application's database that both members have,
// and not with the same content; empty if there is none.
func Differ(ctx context.Context, one, other cluster.Cluster, app client.ObjectKey) (string, error) {
	for _, name := range render.DatabaseSecrets(app.Name) {
		key := client.ObjectKey{Namespace: app.Namespace, Name: name}
		a, err := get(ctx, one, key)
		if err != nil {
			return "", err
		}
		b, err := get(ctx, other, key)
		if err != nil {
			return "", err
		}
		if a != nil && b != nil && !equality.Semantic.DeepEqual(a.Data, b.Data) {
			return name, nil
		}
	}
	return "", nil
}

// get reads a Secret from the member's API server, nil if there is none.
func get(ctx context.Context, in cluster.Cluster, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := in.GetAPIReader().Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting the Secret %s: %w", key.Name, err)
	}
	return secret, nil
}
