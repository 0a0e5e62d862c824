package storageclass

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// defaultAnnotation marks the class of claims that ask for none.
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class"

// Class represents the storage class for a volume.
type Class struct {
	// Name is that of the StorageClass; empty where a cluster has no default.
	Name       string
	Parameters map[string]string
	Driver     string
}

// Wanted holds the inputs that decide on the class: the existing claims, else the copy,
// else the application. All but the member may be missing.
type Wanted struct {
	Member    *v1.MemberCluster
	Claims    []*corev1.PersistentVolumeClaim
	Copy, App *v1.EcommerceApp
}

// Find reads the class in the member. The error wraps csi.ErrDriverMissing without a driver.
func Find(ctx context.Context, reader client.Reader, wanted Wanted) (Class, error) {
	driver, err := csi.ClusterOf(wanted.Member).Driver()
	if err != nil {
		return Class{}, err
	}
	found := Class{Driver: driver}
	if found.Name, err = wanted.Name(); err != nil {
		return Class{}, err
	}
	if found.Name == "" {
		if found.Name, err = byDefault(ctx, reader); err != nil || found.Name == "" {
			return found, err
		}
	}
	class := &storagev1.StorageClass{}
	err = reader.Get(ctx, client.ObjectKey{Name: found.Name}, class)
	if client.IgnoreNotFound(err) != nil {
		return Class{}, fmt.Errorf("getting the storage class %s: %w", found.Name, err)
	}
	found.Parameters = class.Parameters
	return found, nil
}

// Name returns the class that is asked for; empty is the default one. It is said without
// a look at the member.
func (w Wanted) Name() (string, error) {
	for _, claim := range w.Claims {
		if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName != "" {
			return *claim.Spec.StorageClassName, nil
		}
	}
	switch {
	case w.Copy != nil && w.Copy.Spec.Database != nil && w.Copy.Spec.Database.StorageClassName != nil:
		return *w.Copy.Spec.Database.StorageClassName, nil
	case w.Copy != nil || w.App == nil || w.App.Spec.Database == nil:
		return "", nil
	case w.App.Spec.Database.StorageClassName != nil:
		return *w.App.Spec.Database.StorageClassName, nil
	default:
		return csi.ClassName(csi.ClusterOf(w.Member), w.App.Spec.Database.StorageProfile, w.App.Spec.CloudConfig)
	}
}

// byDefault returns the class that claims get which ask for none; empty if there is
// none. Without its name a claim could not grow.
func byDefault(ctx context.Context, reader client.Reader) (string, error) {
	classes := &storagev1.StorageClassList{}
	if err := reader.List(ctx, classes); err != nil {
		return "", fmt.Errorf("listing storage classes: %w", err)
	}
	var found *storagev1.StorageClass
	for i := range classes.Items {
		c := &classes.Items[i]
		// Of several the newest counts, as the API server has it.
		if c.Annotations[defaultAnnotation] == "true" && (found == nil || found.CreationTimestamp.Before(&c.CreationTimestamp)) {
			found = c
		}
	}
	if found == nil {
		return "", nil
	}
	return found.Name, nil
}
