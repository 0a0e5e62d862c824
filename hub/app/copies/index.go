package copies

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// appsByMember is the index of applications by the members that they run or may run in. Its
	// name is unique to this package, so that it does not collide with other indexes.
	appsByMember = "dispatch/members"
	// anyMember is the value of applications whose inventory is lost. No member has this name.
	anyMember = "*"
)

// Index adds the index that the Dispatcher needs to the hub's cache. Call it before members are
// connected.
func (d *Dispatcher) Index(ctx context.Context, cache client.FieldIndexer) error {
	if err := cache.IndexField(ctx, &v1.EcommerceApp{}, appsByMember, membersOf); err != nil {
		return fmt.Errorf("indexing applications by member: %w", err)
	}
	return nil
}

// membersOf returns the values of an application in the index.
func membersOf(object client.Object) []string {
	app, ok := object.(*v1.EcommerceApp)
	if !ok {
		return nil
	}
	var names []string
	if app.InventoryLost() {
		names = append(names, anyMember)
	}
	for i := range app.Status.Clusters {
		names = append(names, app.Status.Clusters[i].Name)
	}
	return names
}

// concerned returns the applications that a member's queue is concerned with: those that run or may
// run in the member. What the hub wrote counts before its cache has it.
func (d *Dispatcher) concerned(ctx context.Context, member string) ([]*v1.EcommerceApp, error) {
	written := d.written.all() // Before the cache is read.
	found := map[types.NamespacedName]*v1.EcommerceApp{}
	for key, w := range written {
		found[key] = w.app
	}
	for _, value := range []string{member, anyMember} {
		apps := &v1.EcommerceAppList{}
		if err := d.hub.List(ctx, apps, client.MatchingFields{appsByMember: value}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing applications: %w", err)
		}
		for i := range apps.Items {
			app := &apps.Items[i]
			found[keyOf(app)], _ = written[keyOf(app)].newest(app)
		}
	}
	var concerned []*v1.EcommerceApp
	for _, app := range found {
		if EntryOf(app, member) != nil || app.InventoryLost() {
			concerned = append(concerned, app)
		}
	}
	return concerned, nil
}

// isPending reports whether a member has missed something of an application: it catches up when it is
// back, before what it has is compared.
func isPending(app *v1.EcommerceApp, member string) bool {
	entry := EntryOf(app, member)
	return entry == nil || deletes(app, entry) || entry.AppliedGeneration < app.Generation
}
