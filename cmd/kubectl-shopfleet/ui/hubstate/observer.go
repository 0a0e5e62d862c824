package hubstate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
)

// settle is how long changes are collected before there is another Snapshot.
const settle = 200 * time.Millisecond

// errUnreadable means that no kind could be read.
var errUnreadable = errors.New("nothing can be read")

// Options describe what an Observer observes, and how.
type Options struct {
	// Query has a client for lists, with a deadline for each request, and one for watches, without. Its other fields are not used.
	Query watchuntil.Query
	Hub   Hub
	// Lease returns the Lease that the leader of the hub renews, an empty one if there is none. It has a deadline.
	Lease func(context.Context) (*coordinationv1.Lease, error)
	Clock clock.WithTicker
}

// Observer keeps a Snapshot of a hub up to date. It is safe for concurrent use.
type Observer struct {
	clock clock.WithTicker
	lease *leaseReader
	kinds []*kind
	// dirty has a value if something has changed since the last Snapshot.
	dirty chan struct{}

	mu   sync.Mutex
	last *Snapshot
}

// NewObserver returns an Observer that has seen nothing yet.
func NewObserver(o Options) (*Observer, error) {
	observer := &Observer{clock: o.Clock, dirty: make(chan struct{}, 1)}
	observer.lease = &leaseReader{get: o.Lease, clock: o.Clock, touched: observer.touch, first: make(chan struct{}), known: Lease{Source: Source{Kind: "Lease"}}}
	lists := []struct {
		name       string
		list       client.ObjectList
		object     client.Object
		namespaced bool
	}{
		{Apps, &v1.EcommerceAppList{}, &v1.EcommerceApp{}, true},
		{Members, &v1.MemberClusterList{}, &v1.MemberCluster{}, false},
		{Backups, &v1.BackupList{}, &v1.Backup{}, true},
		{Restores, &v1.RestoreList{}, &v1.Restore{}, true},
		{Accounts, &v1.CloudAccountList{}, &v1.CloudAccount{}, false},
	}
	for _, l := range lists {
		k := &kind{name: l.name, source: Source{Kind: l.name}, clock: o.Clock, touched: observer.touch, first: make(chan struct{})}
		namespace := ""
		if l.namespaced {
			namespace = o.Hub.Namespace
		}
		if err := k.observe(source{o.Query.Lister.List, o.Query.Watcher.Watch, l.list, namespace}, l.object); err != nil {
			return nil, fmt.Errorf("observing %s: %w", l.name, err)
		}
		observer.kinds = append(observer.kinds, k)
	}
	observer.last = &Snapshot{Hub: o.Hub, Sources: observer.sources()}
	return observer, nil
}

// Run blocks until ctx is done, and observes meanwhile.
func (o *Observer) Run(ctx context.Context) {
	quiet := klog.NewContext(ctx, logr.Discard()) // What the informers log is in the Sources.
	var group sync.WaitGroup
	group.Go(func() { o.lease.run(quiet) })
	for _, k := range o.kinds {
		group.Go(func() { k.informer.RunWithContext(quiet) })
	}
	defer group.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.dirty:
		}
		select {
		case <-ctx.Done():
			return
		case <-o.clock.After(settle):
		}
		o.replace()
	}
}

// Wait blocks until the Lease and each kind were read, or could not be, and the Snapshot says so. It returns an error if no
// kind could be read, or if ctx ends before.
func (o *Observer) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-o.lease.first:
	}
	for _, k := range o.kinds {
		if err := k.fill(ctx); err != nil {
			return err
		}
	}
	o.replace()
	var problems []error
	for _, k := range o.kinds {
		if err := k.problem(); err != nil {
			problems = append(problems, fmt.Errorf("listing %s: %w", k.name, err))
		}
	}
	if len(problems) == len(o.kinds) {
		return fmt.Errorf("%w: %w", errUnreadable, problems[0])
	}
	return nil
}

// Snapshot returns what is known now.
func (o *Observer) Snapshot() *Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// touch notes that something has changed.
func (o *Observer) touch() {
	select {
	case o.dirty <- struct{}{}:
	default:
	}
}

// replace makes a Snapshot of what is known. The objects of kinds that have not changed are those of the last one.
func (o *Observer) replace() {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := *o.last
	for _, k := range o.kinds {
		if !k.changed.Swap(false) {
			continue
		}
		switch k.name {
		case Apps:
			next.Apps = itemsOf[v1.EcommerceApp](k)
		case Members:
			next.Members = itemsOf[v1.MemberCluster](k)
		case Backups:
			next.Backups = itemsOf[v1.Backup](k)
		case Restores:
			next.Restores = itemsOf[v1.Restore](k)
		case Accounts:
			next.Accounts = itemsOf[v1.CloudAccount](k)
		}
	}
	next.Sources, next.Hub.Lease = o.sources(), o.lease.current()
	o.last = &next
}

func (o *Observer) sources() []Source {
	all := make([]Source, 0, len(o.kinds))
	for _, k := range o.kinds {
		all = append(all, k.current())
	}
	return all
}

// itemsOf returns the objects of a kind, sorted by namespace and name; none if they are not known, although the informer
// keeps those that it had. They share what they refer to with its store, whose objects are replaced and never changed.
func itemsOf[T any, P interface {
	*T
	client.Object
}](k *kind) []T {
	if !k.current().Read {
		return nil
	}
	all := k.informer.GetStore().List()
	objects := make([]P, 0, len(all))
	for _, item := range all {
		if object, ok := item.(P); ok {
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, func(a, b P) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	items := make([]T, 0, len(objects))
	for _, object := range objects {
		items = append(items, *object)
	}
	return items
}
