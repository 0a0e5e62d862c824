package reconciler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// dependentClaim returns the name of an existing claim whose data depends on a retained,
// generated Secret; empty if there is none. Imported data that was not started yet takes any passwords. While a Restore replaces
// volumes, a claim that is not there stands for the data too: it may get the volume back that it had.
func (r *reconciler[T]) dependentClaim(ctx context.Context, p *pass[T], secret component.Object) (string, error) {
	if !secret.Retain || secret.Generate == nil {
		return "", nil
	}
	exists := p.live[component.KeyOf(secret.Resource)] != nil
	claims, missing := p.claimsOf(secret.Resource.GetLabels()[v1.ComponentLabel])
	if len(claims) == 0 && len(missing) > 0 && p.object.GetAnnotations()[v1.RestoringAnnotation] != "" {
		return missing[0].Name, nil
	}
	for _, claim := range claims {
		if exists || !isImported(claim) {
			return claim.GetName(), nil
		}
		// The cache may have the claim of before the database was started, and the Secret may have been deleted since.
		if imported, err := r.importedNow(ctx, claim); err != nil || !imported {
			return claim.GetName(), err
		}
	}
	return "", nil
}

// claimsOf returns the claims with data of the StatefulSets of a component, in pod order: those that exist, and those that do not.
func (p *pass[T]) claimsOf(part string) (claims []component.Resource, missing []component.Key) {
	for _, c := range p.components {
		for _, object := range c.Objects {
			if object.Resource.GetLabels()[v1.ComponentLabel] != part {
				continue
			}
			for _, key := range component.DataClaims(object.Resource) {
				if claim := p.live[key]; claim != nil {
					claims = append(claims, claim)
				} else {
					missing = append(missing, key)
				}
			}
		}
	}
	return claims, missing
}

func isImported(claim component.Resource) bool {
	return claim.GetAnnotations()[v1.ImportedAnnotation] == "true"
}

// importedNow reports whether the API server has a claim with imported data.
func (r *reconciler[T]) importedNow(ctx context.Context, claim component.Resource) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	now := &corev1.PersistentVolumeClaim{}
	if err := r.member.APIReader.Get(ctx, client.ObjectKeyFromObject(claim), now); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading PersistentVolumeClaim %q: %w", claim.GetName(), err)
	}
	return isImported(now), nil
}

// endImports removes v1.ImportedAnnotation from the claims of a StatefulSet that is about to be written. Its Secrets precede
// it: the pods set their passwords in the data, which depends on them from then on. A pass that ends before has written
// no StatefulSet, and the next one has the Secrets.
func (r *reconciler[T]) endImports(ctx context.Context, p *pass[T], set component.Resource) error {
	if p.paused {
		return nil
	}
	for _, key := range component.Claims(set) {
		if claim, ok := p.live[key].(*corev1.PersistentVolumeClaim); ok && isImported(claim) {
			if err := r.member.Applier.RemoveAnnotation(ctx, claim, v1.ImportedAnnotation); err != nil {
				return err
			}
		}
	}
	return nil
}
