package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// orphansDelay batches changes of copies. It exceeds the time in which a copy and the
// application that adopts it may disagree.
const orphansDelay = time.Second

// Orphans finds the copies in each member that no application on the hub owns. It must
// be engaged with each connected member, which adding it to a multicluster manager does.
// It is safe for concurrent use.
type Orphans struct {
	wake controller.Queue

	mu sync.RWMutex
	// caches holds the caches of each member by the order of their engagement: for a moment, a
	// connection and the one that replaces it are both engaged.
	caches map[string][]client.Reader
}

// NewOrphans returns a counter that is engaged with no member yet.
func NewOrphans() *Orphans { return &Orphans{caches: map[string][]client.Reader{}} }

// Start blocks until ctx is done.
func (o *Orphans) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage watches the copies of a member until ctx is done. It does not wait for its cache.
func (o *Orphans) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	informer, err := cl.GetCache().GetInformer(ctx, &v1.EcommerceApp{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching copies in member %q: %w", name, err)
	}
	member, reader := name.String(), client.Reader(cl.GetCache())
	count := func(any) { o.wake.AddAfter(orphansDelay, requestFor(member)) }
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: count,
		UpdateFunc: func(before, after any) {
			// Progress and generations are no change: applications report what waits.
			if ownerOf(before) != ownerOf(after) {
				count(after)
			}
		},
		DeleteFunc: count,
	}); err != nil {
		return fmt.Errorf("watching copies in member %q: %w", name, err)
	}
	o.mu.Lock()
	o.caches[member] = append(slices.Clone(o.caches[member]), reader)
	o.mu.Unlock()
	context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		others := slices.DeleteFunc(slices.Clone(o.caches[member]), func(r client.Reader) bool { return r == reader })
		if o.caches[member] = others; len(others) == 0 {
			delete(o.caches, member)
		}
	})
	count(nil) // Copies may have changed while the member was not watched.
	return nil
}

// owner represents the application of a copy, as recorded in the copy's annotations.
type owner struct {
	copied bool
	uid    types.UID
}

func ownerOf(object any) owner {
	app, ok := object.(*v1.EcommerceApp)
	if !ok {
		return owner{}
	}
	return owner{copied: app.IsCopy(), uid: v1.OriginOf(app.Annotations).App}
}

// in returns the orphans in a member, and the copies there that wait for the user, from the
// caches of the hub and of the member, and false if the member is not connected. They are not
// to be changed.
func (o *Orphans) in(ctx context.Context, hub client.Reader, member string) (listed recovery.Listed, known bool, err error) {
	o.mu.RLock()
	caches := o.caches[member]
	o.mu.RUnlock()
	if len(caches) == 0 {
		return listed, false, nil
	}
	reader := caches[len(caches)-1]
	copies := &v1.EcommerceAppList{}
	if err := reader.List(ctx, copies, client.UnsafeDisableDeepCopy); err != nil {
		return listed, false, fmt.Errorf("listing copies in member %q: %w", member, err)
	}
	for i := range copies.Items {
		copied := &copies.Items[i]
		if !copied.IsCopy() {
			continue
		}
		app := &v1.EcommerceApp{}
		err := hub.Get(ctx, client.ObjectKeyFromObject(copied), app, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return listed, false, fmt.Errorf("reading the application of a copy in member %q: %w", member, err)
		}
		if apierrors.IsNotFound(err) {
			app = nil
		}
		switch {
		case waits(copied, app, member):
			listed.Waiting = append(listed.Waiting, *copied)
		case orphaned(copied, app, member):
			listed.Orphans = append(listed.Orphans, *copied)
		}
	}
	return listed, true, nil
}

// observeOrphans lists the orphans in a member, and the copies there that wait for the user, in
// its record, and returns the number of orphans; nil if the member is not connected.
func (r *Reconciler) observeOrphans(ctx context.Context, member string) (*int32, error) {
	found, known, err := r.orphans.in(ctx, r.client, member)
	if err != nil || !known {
		return nil, err
	}
	data, err := recovery.EncodeOrphans(found)
	if err != nil {
		return nil, fmt.Errorf("listing the orphans in member %q: %w", member, err)
	}
	last := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: r.namespace, Name: recovery.OrphansName(member)}
	err = r.client.Get(ctx, key, last)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("reading the orphans in member %q: %w", member, err)
	case len(data) == 0:
		if err := r.forgetOrphans(ctx, member); err != nil {
			return nil, err
		}
	case !equality.Semantic.DeepEqual(last.Data, data):
		intent := corev1apply.ConfigMap(key.Name, key.Namespace).WithData(data).
			WithLabels(map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.MemberRecordLabel: member})
		if err := r.client.Apply(ctx, intent, client.FieldOwner(v1.HubFieldManager), client.ForceOwnership); err != nil {
			return nil, fmt.Errorf("writing the orphans in member %q: %w", member, err)
		}
	}
	var n int32
	for range found.Orphans {
		n++
	}
	return &n, nil
}

// forgetOrphans deletes the record of the orphans in a member that has none, or has left the fleet. It sends
// nothing if there is no record.
func (r *Reconciler) forgetOrphans(ctx context.Context, member string) error {
	record := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recovery.OrphansName(member)}, record)
	if err == nil && record.Labels[v1.ManagedByLabel] == v1.ManagedBy {
		err = r.client.Delete(ctx, record, client.Preconditions{UID: &record.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the record of orphans in member %q: %w", member, err)
	}
	return nil
}

// orphaned reports whether no application owns a copy in a member. App is the
// application of its name on the hub, or nil. An application whose inventory was lost
// owns its copies until it is recovered, and one that waits for the user a copy with another UID.
func orphaned(copied, app *v1.EcommerceApp, member string) bool {
	uid := copied.Annotations[v1.HubAppUIDAnnotation]
	switch {
	case waits(copied, app, member):
		return false
	case app == nil, uid != "" && uid != string(app.UID):
		return true
	default:
		return !app.InventoryLost() && !slices.Contains(clustersOf(app), member)
	}
}

// waits reports whether a copy in a member waits until the user settles that the hub does not
// know it.
func waits(copied, app *v1.EcommerceApp, member string) bool {
	origin := v1.OriginOf(copied.Annotations).String()
	return app != nil && slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool {
		return c.Name == member && c.UnknownOrigin == origin
	})
}

// holders returns the connected members that hold a copy of an application.
func (o *Orphans) holders(ctx context.Context, app client.Object) []string {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var names []string
	for name, caches := range o.caches {
		err := caches[len(caches)-1].Get(ctx, client.ObjectKeyFromObject(app), &v1.EcommerceApp{}, client.UnsafeDisableDeepCopy)
		if err == nil {
			names = append(names, name)
		}
	}
	return names
}
