package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// countResidue returns the number of copies that deleted applications left behind in a
// member. Entries that were edited by hand and name no copy count too: a user has to correct them.
func (r *Reconciler) countResidue(ctx context.Context, member string) (int32, error) {
	found := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recovery.Name(member)}, found)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("reading the residue of member %q: %w", member, err)
	}
	var n int32
	for range found.Data {
		n++
	}
	return n, nil
}

// requestsForResidue returns a request for the member of a record.
func requestsForResidue(_ context.Context, record client.Object) []reconcile.Request {
	return []reconcile.Request{requestFor(record.GetLabels()[v1.MemberRecordLabel])}
}
