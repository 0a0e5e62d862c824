package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/residue"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// ResidueStore reads and writes the records of what deleted applications left behind in
// members, in ConfigMaps of the hub's namespace. It is safe for concurrent use.
type ResidueStore struct {
	hub       client.Client
	namespace string
}

// NewResidueStore returns a store that reads from the cache of hub.
func NewResidueStore(hub client.Client, namespace string) *ResidueStore {
	return &ResidueStore{hub: hub, namespace: namespace}
}

// add records a copy, and reports whether it was not recorded before. It sends no request
// for a copy that is recorded. The error is residue.ErrFull if the member has no room.
func (s *ResidueStore) add(ctx context.Context, member string, r residue.Record) (bool, error) {
	found, err := s.get(ctx, member)
	if err != nil {
		return false, err
	}
	patch, err := residue.AddPatch(found.Data, r)
	if err != nil || patch == nil {
		return false, err
	}
	// Not applied: each record has a writer of its own, and none has the full intent.
	err = s.hub.Patch(ctx, s.object(member), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsNotFound(err) {
		created := s.object(member)
		if created.Data, err = residue.Data(r); err == nil {
			err = s.hub.Create(ctx, created, client.FieldOwner(v1.HubFieldManager))
		}
	}
	if err != nil {
		return false, fmt.Errorf("recording the copy of %s in member %q: %w", r.Key(), member, err)
	}
	return true, nil
}

// remove drops the record of an application.
func (s *ResidueStore) remove(ctx context.Context, member string, app types.UID) error {
	patch, err := residue.RemovePatch(app)
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	err = s.hub.Patch(ctx, s.object(member), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1.HubFieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the record of a copy in member %q: %w", member, err)
	}
	return nil
}

// list returns the records of a member.
func (s *ResidueStore) list(ctx context.Context, member string) ([]residue.Record, error) {
	if s == nil {
		return nil, nil
	}
	found, err := s.get(ctx, member)
	if err != nil {
		return nil, err
	}
	records, _ := residue.Decode(found.Data)
	return records, nil
}

// get returns the ConfigMap of a member from the cache; it is empty if there is none.
func (s *ResidueStore) get(ctx context.Context, member string) (*corev1.ConfigMap, error) {
	found := s.object(member)
	if err := s.hub.Get(ctx, client.ObjectKeyFromObject(found), found); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the residue of member %q: %w", member, err)
	}
	return found, nil
}

func (s *ResidueStore) object(member string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: residue.Name(member),
		Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.MemberRecordLabel: member},
	}}
}

// RecordResidue records the copy of an application in a member, before the application is
// released without a confirmation that the copy is gone. It reports whether the copy was
// not recorded before.
func (d *Dispatcher) RecordResidue(ctx context.Context, app *v1.EcommerceApp, member string, now time.Time) (bool, error) {
	if d.options.Residue == nil {
		return false, fmt.Errorf("recording the copy of %s in member %q: %w", keyOf(app), member, errNoResidueStore)
	}
	cluster := &v1.MemberCluster{}
	if err := d.hub.Get(ctx, client.ObjectKey{Name: member}, cluster); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading member %q: %w", member, err)
	}
	return d.options.Residue.add(ctx, member, residue.Record{
		Namespace: app.Namespace, Name: app.Name, App: app.UID,
		ClusterUID: cluster.Status.ClusterUID, Recorded: metav1.NewTime(now),
	})
}

var errNoResidueStore = errors.New("the dispatcher has no store")

// CleanUp enqueues the recorded copies of a member.
func (d *Dispatcher) CleanUp(ctx context.Context, member string) {
	m := d.Get(member)
	if m == nil {
		return
	}
	// The cache fails only when the process ends.
	if records, err := d.options.Residue.list(ctx, member); err == nil {
		m.queue.Add(requestsFor(records)...)
	}
}

func requestsFor(records []residue.Record) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(records))
	for _, r := range records {
		requests = append(requests, reconcile.Request{NamespacedName: r.Key()})
	}
	return requests
}

// cleanUp deletes the copy of a key where deleted applications left it behind, and then
// the records. App is the application of that key on the hub; its UID is empty if there
// is none.
func (l *MemberQueue) cleanUp(ctx context.Context, key types.NamespacedName, app *v1.EcommerceApp) error {
	records, err := l.options.Residue.list(ctx, l.name)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range records {
		if r.Key() == key {
			problems = append(problems, l.cleanUpOne(ctx, app, r))
		}
	}
	return errors.Join(problems...)
}

func (l *MemberQueue) cleanUpOne(ctx context.Context, app *v1.EcommerceApp, r residue.Record) error {
	place, err := l.facts(ctx)
	if err != nil || place == nil || !r.In(place.member.Status.ClusterUID) {
		// Another cluster under the member's name: the copy is not here.
		return err
	}
	// An application that was created anew owns what it finds, or leaves it an orphan.
	if app.UID == "" || app.UID == r.App && app.DeletionTimestamp != nil {
		gone, err := l.deleteCopy(ctx, removal{key: r.Key(), deleted: r.App, owned: func(live component.Resource) bool {
			return live.GetAnnotations()[v1.HubAppUIDAnnotation] == string(r.App)
		}})
		if err != nil || !gone {
			return err
		}
	}
	if err := l.options.Residue.remove(ctx, l.name, r.App); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Removed what a deleted application left behind", "uid", r.App, "recorded", r.Recorded)
	return nil
}
