package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
)

// defaultAnnotation marks the class of claims that ask for none.
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class"

// storageClass is the storage class for a volume.
type storageClass struct {
	// name is the name of the StorageClass; empty if the cluster has no default.
	name string
	// provisioner is that of the class; empty if there is no such class. driver is the driver of the provider that makes
	// its volumes; empty if none does.
	provisioner, driver string
}

// wantedClass holds the inputs that decide on the class: the existing claims, else the copy,
// else the application. All but the member may be missing.
type wantedClass struct {
	member      *v1.MemberCluster
	claims      []*corev1.PersistentVolumeClaim
	copied, app *v1.EcommerceApp
}

// findClass reads the class in the member.
func findClass(ctx context.Context, reader client.Reader, wanted wantedClass) (storageClass, error) {
	var found storageClass
	var err error
	if found.name, err = wanted.name(); err != nil {
		return storageClass{}, err
	}
	if found.name == "" {
		if found.name, err = defaultClass(ctx, reader); err != nil || found.name == "" {
			return found, err
		}
	}
	class := &storagev1.StorageClass{}
	err = reader.Get(ctx, client.ObjectKey{Name: found.name}, class)
	if client.IgnoreNotFound(err) != nil {
		return storageClass{}, fmt.Errorf("getting the storage class %s: %w", found.name, err)
	}
	found.provisioner, found.driver = class.Provisioner, csi.DriverOfClass(wanted.member.Status.Provider, class.Provisioner)
	return found, nil
}

// name returns the requested class; empty means the default one. It sends no requests to the
// member.
func (w wantedClass) name() (string, error) {
	for _, claim := range w.claims {
		if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName != "" {
			return *claim.Spec.StorageClassName, nil
		}
	}
	switch {
	case w.copied != nil && w.copied.Spec.Database != nil && w.copied.Spec.Database.StorageClassName != nil:
		return *w.copied.Spec.Database.StorageClassName, nil
	case w.copied != nil || w.app == nil || w.app.Spec.Database == nil:
		return "", nil
	case w.app.Spec.Database.StorageClassName != nil:
		return *w.app.Spec.Database.StorageClassName, nil
	}
	class, err := revisions.Effective{Spec: w.app.Spec}.DatabaseClass(csi.ClusterOf(w.member))
	if err != nil || class == nil {
		return "", err
	}
	return class.Name, nil
}

// defaultClass returns the class that claims get which ask for none; empty if there is
// none. Without its name a claim could not grow.
func defaultClass(ctx context.Context, reader client.Reader) (string, error) {
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
