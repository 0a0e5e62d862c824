package copies

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Compared reports whether a member has nothing of an application that the hub does not know, as
// a hub that was restored from an older backup does not. It is false while the member is not
// connected, and reads caches only. Copied is the server of the copy's database, zero if there is none.
func (d *Dispatcher) Compared(ctx context.Context, app *v1.EcommerceApp, member string) (compared bool, copied v1.CopiedServer, err error) {
	l := d.Get(member)
	if l == nil {
		return false, v1.CopiedServer{}, nil
	}
	t := l.stored(app)
	isKnown := knownDeletion(app, l.record().DeletedAt(app.UID), t.waiting) == nil
	live := &v1.EcommerceApp{}
	err = l.cluster.GetClient().Get(ctx, keyOf(app), live, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return isKnown && t.knownLeaving(l.record().Left(app.UID)) == nil, v1.CopiedServer{}, nil
	}
	if err != nil {
		return false, v1.CopiedServer{}, fmt.Errorf("reading the copy in member %q: %w", member, err)
	}
	return isKnown && l.unknownOrigin(ctx, t, live) == "", v1.CopiedServerOf(live), nil
}
