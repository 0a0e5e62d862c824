package connect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// syncError lists the kinds whose informers have not synced in time.
type syncError struct{ kinds []string }

// Error names the kinds, sorted.
func (e *syncError) Error() string { return "cannot list " + strings.Join(e.kinds, ", ") }

// sync blocks until the informers of all watched types and of nodes have synced.
func (c *Connection) sync(ctx context.Context, watched []client.Object, indexes []Index) error {
	for _, i := range indexes {
		if err := c.Cluster.GetFieldIndexer().IndexField(ctx, i.Object, i.Field, i.Extract); err != nil {
			return fmt.Errorf("indexing field %q: %w", i.Field, err)
		}
	}
	watched = append([]client.Object{&corev1.Node{}}, watched...)
	synced := make([]bool, len(watched))
	var group sync.WaitGroup
	for i, object := range watched {
		group.Go(func() { synced[i] = c.await(ctx, object) })
	}
	group.Wait()
	late := map[string]struct{}{}
	for i, object := range watched {
		if !synced[i] {
			late[c.kindOf(object)] = struct{}{}
		}
	}
	if len(late) > 0 {
		return &syncError{kinds: slices.Sorted(maps.Keys(late))}
	}
	return nil
}

// await starts the informer of a type and blocks until it has synced, or has received nothing for
// Timeouts.Sync.
func (c *Connection) await(ctx context.Context, object client.Object) bool {
	informer, err := c.Cluster.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return false
	}
	limit, resource := c.settings.Timeouts.Sync, c.resourceOf(object)
	watchdog := c.settings.Clock.NewTimer(limit)
	defer watchdog.Stop()
	for last := int64(0); ; {
		select {
		case <-informer.HasSyncedChecker().Done():
			return true
		case <-ctx.Done():
			return false
		case <-watchdog.C():
			received := c.watches.received(resource)
			if received == last {
				return false
			}
			last = received
			watchdog.Reset(limit)
		}
	}
}

// resourceOf returns the resource of a type as resourceIn does; empty if the cluster has none.
func (c *Connection) resourceOf(object client.Object) string {
	kind, err := apiutil.GVKForObject(object, c.Cluster.GetScheme())
	if err != nil {
		return ""
	}
	mapping, err := c.Cluster.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return ""
	}
	return mapping.Resource.GroupResource().String()
}

func (c *Connection) kindOf(object client.Object) string {
	kind, err := apiutil.GVKForObject(object, c.Cluster.GetScheme())
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return kind.Kind
}
